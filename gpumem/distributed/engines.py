"""Finds the engine over what the user calls the group of processes.

Neither mpi4py nor PyTorch is imported before a group of it is given, or asked for.
"""

from __future__ import annotations

import sys
from typing import Any

from ..base.messages import quoted
from .engine import Engine


def _of_torch(comm: Any) -> Engine | None:
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available():
        return None
    mesh = sys.modules.get("torch.distributed.device_mesh")
    if mesh is not None and isinstance(comm, mesh.DeviceMesh):
        comm = comm.get_group()
    if not isinstance(comm, distributed.ProcessGroup):
        return None
    from .torch_engine import engine_of

    return engine_of(comm)


def _of_mpi(comm: Any) -> Engine | None:
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None or not isinstance(comm, mpi.Comm):
        return None
    from .mpi import engine_of

    return engine_of(comm)


def _usual() -> Any:
    """Return torch's default group if there is one, else MPI's COMM_WORLD."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.group.WORLD
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise ImportError(
            "gpumem.distributed needs mpi4py with an MPI library, or PyTorch with "
            "torch.distributed.init_process_group called: "
            f"mpi4py cannot be imported ({error}), and there is no process group"
        ) from error
    return MPI.COMM_WORLD


def find_engine(comm: Any = None) -> Engine:
    """Return the engine over a communicator or process group.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm, torch.distributed.ProcessGroup or DeviceMesh, optional
        The processes. By default, those of torch's default group if it is initialised, else those
        of MPI.COMM_WORLD.

    Raises
    ------
    TypeError
        If it is something else, or of a process that is not in it.
    ImportError
        If there is no `comm` and neither library is there.
    """
    if comm is None:
        comm = _usual()
    found = _of_torch(comm) or _of_mpi(comm)
    if found is None:
        raise TypeError(
            "comm must be a communicator of mpi4py, a process group or a one-dimensional "
            f"DeviceMesh of torch.distributed, or None, not {quoted(comm)}"
        )
    return found
