"""Users' CUDA C on the simulator: parsed, compiled by the host's compiler, loaded and run."""

from .errors import CompileError
from .module import Module, load

__all__ = ["CompileError", "Module", "load"]
