"""How many calls of the runtime a first launch takes, for ARCHS in the environment."""

import os

import fake_device as fake  # first
import numpy as np

import gpumem as gm

fake.set_archs(os.environ["ARCHS"].encode())
there = gm.to_device(np.zeros(10), backend="cuda")
before = fake.calls()
gm.copy(there)
print(fake.calls() - before)
