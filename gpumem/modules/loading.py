"""Loading a CUDA C source."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import _core
from ..base.files import check_path
from ..base.messages import quoted
from .module import Module

__all__ = ["load"]

_MACRO = re.compile(r"[A-Za-z_]\w*(\([^()]*\))?", re.ASCII)  # the name, and its parameters if any


def load(
    path: str | os.PathLike[str] | None = None,
    *,
    source: str | None = None,
    name: str | None = None,
    defines: Mapping[str, object] | None = None,
    include_dirs: Sequence[str | os.PathLike[str]] = (),
    options: Sequence[str] = (),
    backend: str | None = None,
) -> Module:
    """Load the kernels of a CUDA C source, to call and to check them.

    The source is compiled and its kernels are run: load only what you would run.

    Parameters
    ----------
    path : path, optional
        The file. Its host side (``main``, ``<<<>>>``, ``cudaMalloc``) is left out.
    source : str, optional
        The text, instead of a file.
    name : str, optional
        What messages call the source; by default its path.
    defines : dict, optional
        Macros and their values.
    include_dirs : sequence of path
        Folders in which includes are looked for, after the source's own.
    options : sequence of str
        Options of nvcc: ``-D``, ``-U``, ``-I`` and ``-std=``. Options that change machine code
        alone, such as ``-use_fast_math`` or ``-maxrregcount=64``, are heeded on a GPU only.
    backend : {"cuda", "sim", "auto"}, optional
        Where the kernels run: on a GPU, which needs cuda-core and NVRTC or nvcc, or on the
        simulator. By default as everywhere: GPUMEM_BACKEND, else a GPU if all that is there.

    Returns
    -------
    Module
        ``module["saxpy"][grid, block](x, y, n, 2.0)`` runs a kernel, ``module["tile<float, 32>"]``
        makes an instance of a template.

    Raises
    ------
    CompileError
        If it does not compile, or uses what the backend does not have; the message names file and
        line.
    TypeError, ValueError
        If an argument is of another kind, or a name in `defines` is no name in C.
    UnavailableError
        If the backend cannot be used here; the message says what is missing.
    OSError
        If the file cannot be read.

    Notes
    -----
    What was compiled is kept in the user's cache; ``gpumem cache`` shows where, and empties it.

    Examples
    --------
    >>> import numpy as np
    >>> import gpumem as gm
    >>> m = gm.load(source="__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
    >>> x = np.arange(4, dtype=np.float32)
    >>> m["twice"][1, 4](x)
    >>> x
    array([0., 2., 4., 6.], dtype=float32)
    """
    # Only who loads a source needs what compiles it: `import gpumem` does without.
    from ..cuda_c.compile import Source, read_source
    from .device import OnDevice, why_not_on_device
    from .simulator import OnSimulator

    if (path is None) == (source is None):
        raise TypeError("load takes a path or source=, one of the two")
    _check_texts(name, defines, include_dirs, options)
    folder = Path.cwd()
    if path is not None:
        check_path("path", path)
        file = Path(path)
        source, folder = read_source(file), file.resolve().parent
        name = name or os.fspath(path)
    if not isinstance(source, str):
        raise TypeError(f"source must be text, not {quoted(source)}")
    _check_text("source", source)
    what = Source(
        source.removeprefix("\ufeff"),  # a byte order mark, which Python's "utf-8" leaves there
        name or "source.cu",
        folder,
        {str(key): str(value) for key, value in (defines or {}).items()},
        [str(Path(one).resolve()) for one in include_dirs],
        (),
        tuple(options),
    )
    chosen = _core.backend(backend)
    if backend in (None, "auto") and chosen == "cuda" and why_not_on_device() is not None:
        chosen = "sim"
    return Module(what, OnDevice(what) if chosen == "cuda" else OnSimulator(what))


def _check_texts(name: Any, defines: Any, include_dirs: Any, options: Any) -> None:
    """Raise TypeError or ValueError, which name the argument, for what is no text."""
    if name is not None:
        _check_text("name", name)
    if defines is not None and not isinstance(defines, Mapping):
        raise TypeError(f"defines must be a mapping of names to values, not {quoted(defines)}")
    for macro in defines or ():
        if not isinstance(macro, str):
            raise TypeError(f"defines must have names as text, not {quoted(macro)}")
        if not _MACRO.fullmatch(macro):  # the compiler would split "A B" and define A
            raise ValueError(f"defines has the name {quoted(macro)}, expected one of C")
    for what, several in (("include_dirs", include_dirs), ("options", options)):
        if isinstance(several, str | bytes) or not isinstance(several, Sequence):
            raise TypeError(f"{what} must be a sequence, not {quoted(several)}")
    for one in include_dirs:
        check_path("include_dirs", one)
    for one in options:
        _check_text("options", one)


def _check_text(what: str, text: Any) -> None:
    if not isinstance(text, str):
        raise TypeError(f"{what} must be text, not {quoted(text)}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{what} is {quoted(text)}, which holds a lone surrogate") from None
