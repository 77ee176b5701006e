"""What the tests of other libraries share."""

import numpy as np

A = np.arange(3000, dtype="f4").reshape(50, 60)
