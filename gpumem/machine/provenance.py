"""Where measurements come from: device, driver, versions, commit, date."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from .. import _core
from ..base.version import __version__
from .device import Device
from .devices import with_peaks
from .nvml import driver_version


def _commit() -> str | None:
    """Return the commit of the code, from the environment or the checkout that holds this file."""
    named = os.environ.get("GPUMEM_COMMIT")
    if named:
        return named
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    if not os.path.exists(os.path.join(root, ".git")):
        return None
    import subprocess  # not needed to import gpumem

    command = ["git", "-C", root, "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        done = subprocess.run(
            [*command, "--exclude=*"], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def provenance(device: Device) -> dict[str, Any]:
    """Return where measurements on a device come from.

    Parameters
    ----------
    device : Device
        What is measured; its first device is the one described.
    """
    import datetime  # not needed to import gpumem
    import platform

    found = device.info()
    first = with_peaks(found["devices"][0]) if found["devices"] else None
    return {
        "gpumem": __version__,
        "commit": _commit(),
        "build": dict(_core.build),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "backend": device.backend,
        "device": first,
        "driver": driver_version(first) if device.backend == "cuda" and first else None,
        "cuda_driver": found["driver"] or None,  # the latest CUDA that the driver knows
        "cuda_runtime": found["runtime"] or None,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "platform": f"{sys.platform} {platform.machine()}",
    }
