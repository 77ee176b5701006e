"""The calls of `bad_calls` on users' kernels: loading, launching, variables, textures."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from bad_arrays import nothing
from bad_calls import Call
from bad_public import kinds_of

import gpumem as gm

SOURCE = """
__device__ float s[3];
__constant__ int limit;
__global__ void k(const float *p, float *out, float v, int n) { out[0] = p[0] * v + n; }
__global__ void look(float *out, cudaTextureObject_t t) { out[0] = tex1D<float>(t, 0.0f); }
"""
GOOD = {"p": np.ones(4, "f4"), "out": np.zeros(4, "f4"), "v": 2.0, "n": 3}
NAMED = r"no kernel|no device variable|name"
ALIKE = np.arange(4, dtype="f4")
# What a kernel does with too few elements; the case is in its message.
FINDINGS = (gm.SimulationError,)


@functools.cache
def module() -> Any:
    return gm.load(source=SOURCE, name="bad.cu", backend="sim")


def _call(name: str, function: Any, good: dict[str, Any], **more: Any) -> Call:
    kinds = kinds_of(function, **more.pop("kinds", {}))
    of_module = more.pop("of_module", False)

    def make() -> Any:
        arguments = {k: v.copy() if hasattr(v, "copy") else v for k, v in good.items()}
        return function, arguments | ({"module": module()} if of_module else {})

    return Call(name, make, kinds, more.pop("check", nothing), **more)


def launch(p: Any, out: Any, v: Any, n: Any) -> Any:
    """Run the kernel; it writes to `out`."""
    module()["k"][1, 1](p, out, v, n)
    return out


def look(out: Any, t: Any) -> Any:
    module()["look"][1, 1](out, t)
    return out


def grid(grid: Any, block: Any, shared_bytes: Any, cooperative: Any, cluster: Any) -> Any:
    return module()["k"].launch(
        grid, block, shared_bytes=shared_bytes, cooperative=cooperative, cluster=cluster
    )


def subscript(size: Any) -> Any:
    return module()["k"][size]


def kernel(name: Any) -> Any:
    return module()[name]


def _launched(_: Any, given: dict[str, Any]) -> None:
    """Whatever it took has one reading in NumPy."""
    p, v, n = np.asarray(given["p"]).reshape(-1), np.float32(given["v"]), int(given["n"])
    assert p.dtype == np.float32 and np.isfinite(float(n)) and v.shape == ()


# Messages say what a texture takes; whether channels or layers are wrong, its shape decides.
TEXELS = dict.fromkeys(("array", "channels", "layered"), r"texture|surface|array|channels|layered")
ONE, MANY = "int", "int | Sequence[int]"
CALLS = [
    _call(
        "kernel[1, 1]()",
        launch,
        GOOD,
        kinds={"p": "array", "out": "array", "v": "float", "n": "int"},
        check=_launched,
        errors=FINDINGS,
    ),
    _call(
        "kernel[1, 1]() with a texture",
        look,
        {"out": np.zeros(1, "f4"), "t": 0},
        kinds={"out": "array", "t": "Any"},
        errors=FINDINGS,
    ),
    _call(
        "Kernel.launch",
        grid,
        {"grid": 1, "block": 1, "shared_bytes": 0, "cooperative": False, "cluster": 1},
        kinds={
            "grid": MANY,
            "block": MANY,
            "shared_bytes": ONE,
            "cooperative": "bool",
            "cluster": MANY,
        },
    ),
    _call("Kernel[]", subscript, {"size": (1, 1)}, called={"size": r"grid|block|stream"}),
    _call(
        "Module[]",
        kernel,
        {"name": "k"},
        kinds={"name": "str"},
        errors=(KeyError,),
        called={"name": NAMED},
    ),
    _call(
        "set_symbol",
        gm.set_symbol,
        {"name": "s", "value": ALIKE[:3]},
        kinds={"value": "array"},
        called={"value": r"\bs\b|value", "name": NAMED},
        errors=(KeyError,),
        of_module=True,
    ),
    _call(
        "get_symbol",
        gm.get_symbol,
        {"name": "limit"},
        of_module=True,
        errors=(KeyError,),
        called={"name": NAMED},
    ),
    _call("texture", gm.texture, {"array": ALIKE}, kinds={"array": "array"}, called=TEXELS),
    _call("surface", gm.surface, {"array": ALIKE}, kinds={"array": "array"}, called=TEXELS),
    _call(
        "load",
        gm.load,
        {"source": "__global__ void k() {}", "backend": "sim"},
        errors=(OSError,),
        called={"path": "path|source"},
    ),
]
