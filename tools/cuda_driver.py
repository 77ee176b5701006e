"""CUDA's driver through ctypes: load a cubin, launch its kernels with NumPy arrays.

Needs the driver alone: tools that run on a bare GPU machine use it.
"""

from __future__ import annotations

import ctypes
import glob
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_void_p
from pathlib import Path
from typing import Any

import numpy as np

DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
DEFAULT_SHARED = 48 << 10  # more has to be asked for
FLAGS = ("-std=c++17", "-lineinfo", "--diag-suppress", "20054")


class DriverError(Exception):
    """A call of the driver failed."""


def find_nvcc() -> str:
    """Return the path of nvcc, or exit if there is none."""
    places = sorted(glob.glob("/usr/local/cuda*/bin/nvcc"), reverse=True)
    for place in (os.environ.get("NVCC"), shutil.which("nvcc"), *places):
        if place and os.access(place, os.X_OK):
            return place
    raise SystemExit("nvcc not found; set NVCC to its path")


def compile_cubin(source: Path, folder: Path, arch: str) -> tuple[Path, str]:
    """Compile a source; return the cubin's path and nvcc's errors, one of which is empty."""
    cubin = folder / f"{source.stem}.cubin"
    command = [find_nvcc(), f"-arch={arch}", *FLAGS, "--cubin", "-o", str(cubin), str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    return cubin, (done.stderr or f"nvcc ended with {done.returncode}") if done.returncode else ""


def demangle(name: str) -> str:
    """Return a C++ name as sources spell it, without result and parameters."""
    library = ctypes.CDLL("libstdc++.so.6")
    library.__cxa_demangle.restype = c_void_p
    status = c_int()
    text = library.__cxa_demangle(name.encode(), None, None, byref(status))
    if not text:
        return name  # extern "C"
    full = ctypes.string_at(text).decode()
    ctypes.CDLL(None).free(c_void_p(text))
    depth = 0
    for end, letter in enumerate(full):  # the parameters begin outside of template arguments
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and not depth:
            full = full[:end]
            break
    return re.sub(r"\b(\d+)u\b", r"\1", full.removeprefix("void ")).replace("> >", ">>")


def kernels(cubin: Path) -> dict[str, str]:
    """Return the symbols of a cubin's functions by their names in the source."""
    symbols = re.findall(rb"\.text\.([\w$]+)\x00", cubin.read_bytes())
    return {demangle(symbol): symbol for symbol in (s.decode() for s in symbols)}


class Device:
    """The first GPU."""

    def __init__(self) -> None:
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        self.device = c_int()
        self.call("cuDeviceGet", byref(self.device), 0)
        self.modules: dict[Path, c_void_p] = {}
        self.open()

    def call(self, name: str, *args: Any) -> None:
        status = getattr(self.cuda, name)(*args)
        if status:
            text = c_char_p()
            self.cuda.cuGetErrorName(status, byref(text))
            raise DriverError(f"{name}: {(text.value or b'unknown error').decode()}")

    def open(self) -> None:
        """Make the device's context current; after a fault, a new one."""
        self.modules.clear()
        self.cuda.cuDevicePrimaryCtxReset_v2(self.device)
        context = c_void_p()
        self.call("cuDevicePrimaryCtxRetain", byref(context), self.device)
        self.call("cuCtxSetCurrent", context)

    def describe(self) -> dict[str, Any]:
        """Return the device's name, number of multiprocessors and compute capability."""
        name = ctypes.create_string_buffer(100)
        self.call("cuDeviceGetName", name, 100, self.device)
        numbers = {"multiprocessors": 16, "major": 75, "minor": 76}  # CU_DEVICE_ATTRIBUTE_...
        answer: dict[str, Any] = {"name": name.value.decode()}
        for key, attribute in numbers.items():
            value = c_int()
            self.call("cuDeviceGetAttribute", byref(value), attribute, self.device)
            answer[key] = value.value
        return answer

    def function(self, cubin: Path, kernel: str) -> c_void_p:
        if cubin not in self.modules:
            module = c_void_p()
            self.call("cuModuleLoadData", byref(module), cubin.read_bytes())
            self.modules[cubin] = module
        symbol = kernels(cubin).get(kernel)
        if symbol is None:
            raise DriverError(f"{cubin.name} has no kernel {kernel}")
        function = c_void_p()
        self.call("cuModuleGetFunction", byref(function), self.modules[cubin], symbol.encode())
        return function

    def launch(
        self,
        function: c_void_p,
        grid: Sequence[int],
        block: Sequence[int],
        args: Sequence[Any],
        *,
        shared: int = 0,
        cooperative: bool = False,
    ) -> None:
        """Launch and wait. NumPy arrays are copied there and back."""
        pointers = [self.upload(a) if isinstance(a, np.ndarray) else None for a in args]
        boxes = [
            p if p is not None else ctypes.create_string_buffer(np.asarray(a).tobytes())
            for p, a in zip(pointers, args, strict=True)
        ]
        packed = (c_void_p * len(boxes))(*(ctypes.addressof(box) for box in boxes))
        if shared > DEFAULT_SHARED:
            self.call("cuFuncSetAttribute", function, DYNAMIC_SHARED, shared)
        name = "cuLaunchCooperativeKernel" if cooperative else "cuLaunchKernel"
        sizes = [c_uint(n) for n in (*grid, *block)]
        rest = () if cooperative else (None,)
        self.call(name, function, *sizes, c_uint(shared), None, packed, *rest)
        self.call("cuCtxSynchronize")
        for pointer, a in zip(pointers, args, strict=True):
            if pointer is not None:
                whole = np.empty_like(a, order="C")
                self.call(
                    "cuMemcpyDtoH_v2", c_void_p(whole.ctypes.data), pointer, c_size_t(a.nbytes)
                )
                a[...] = whole
                self.call("cuMemFree_v2", pointer)

    def upload(self, array: np.ndarray) -> c_void_p:
        pointer, data = c_void_p(), np.ascontiguousarray(array)
        self.call("cuMemAlloc_v2", byref(pointer), c_size_t(max(data.nbytes, 1)))
        self.call("cuMemcpyHtoD_v2", pointer, c_void_p(data.ctypes.data), c_size_t(data.nbytes))
        return pointer
