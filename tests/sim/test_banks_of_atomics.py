"""Passes of atomic operations on shared memory: as measured on an NVIDIA H200, and as modelled."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from loading import load

# Per operation: its type, the call, and the passes of a full warp whose lanes are at one word, at
# neighbours, and two apart (nvcc 13.0, Nsight Compute: wavefronts per instruction).
TURNS, LONG_TURNS, TOGETHER = (32, 1, 2), (64, 2, 4), (1, 1, 2)
OPERATIONS = {
    "add": ("unsigned", "atomicAdd(at, value)", TURNS),
    "add_int": ("int", "atomicAdd(at, (int)value)", TURNS),
    "add_two": ("unsigned", "atomicAdd(at, 2u)", TURNS),
    "add_one": ("unsigned", "atomicAdd(at, 1u)", TOGETHER),
    "add_one_int": ("int", "atomicAdd_block(at, 1)", TOGETHER),
    "subtract": ("unsigned", "atomicSub(at, value)", TURNS),
    "subtract_one": ("unsigned", "atomicSub(at, 1u)", TURNS),
    "min": ("int", "atomicMin(at, (int)value)", TURNS),
    "max": ("unsigned", "atomicMax(at, value)", TURNS),
    "and": ("unsigned", "atomicAnd(at, value)", TURNS),
    "or": ("unsigned", "atomicOr(at, value)", TURNS),
    "xor": ("unsigned", "atomicXor(at, 1u)", TURNS),
    "exchange": ("unsigned", "atomicExch(at, 1u)", TURNS),
    "exchange_float": ("float", "atomicExch(at, (float)value)", TURNS),
    "increment": ("unsigned", "atomicInc(at, 1u)", TURNS),
    "swap": ("unsigned", "atomicCAS(at, 0u, value)", LONG_TURNS),
    "exchange_64": ("unsigned long long", "atomicExch(at, 1ull)", (32, 2, 4)),
    # Loops on a device, counted as one operation.
    "add_float": ("float", "atomicAdd(at, (float)value)", TOGETHER),
    "add_64": ("unsigned long long", "atomicAdd(at, 1ull)", (2, 2, 4)),
}
KERNEL = """
__global__ void of_{name}(const int *places, unsigned value)
{{
    __shared__ {type} words[1024];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) {{
        words[i] = 0;
    }}
    __syncthreads();
    {type} *at = &words[places[threadIdx.x]];
    {call};
}}
"""
SAME_SHAPE = """
__device__ void count(unsigned *at, unsigned by)
{
    atomicAdd(at, by);
}

__global__ void of_all_kinds(const int *places, unsigned *out)
{
    __shared__ unsigned words[32];
    words[threadIdx.x] = 0;
    __syncthreads();
    unsigned *at = &words[places[threadIdx.x]];
    for (int i = 0; i < 3; i++) {
        atomicAdd(at, 1u);
        atomicAdd(at, 2u);
        atomicCAS(at, 0u, 1u);
        __syncwarp();
        out[threadIdx.x] = *at;
        __syncwarp();
    }
}

__global__ void of_through_a_function(const int *places, unsigned value)
{
    __shared__ unsigned words[32];
    words[threadIdx.x] = 0;
    __syncthreads();
    count(&words[places[threadIdx.x]], value);
}
"""


@functools.cache
def module():
    kernels = (
        KERNEL.format(name=name, type=of, call=call) for name, (of, call, _) in OPERATIONS.items()
    )
    return load(source="".join(kernels) + SAME_SHAPE, name="atomics.cu")


def counted(kernel, places, value=3, kind="atomic"):
    """Return requests, passes, and fewest passes of each site."""
    places = np.asarray(places, np.int32)
    report = module().traffic(f"of_{kernel}", 1, places.size, (places, value))
    sites = [s for s in report["sites"] if (s["space"], s["kind"]) == ("shared", kind)]
    return [(s["requests"], s["passes"], s["fewest_passes"]) for s in sites]


def rounds(places, width=4):
    """Passes of lanes that take turns: each round serves one lane of each place."""
    total, group = 0, 32 * 4 // width
    for lanes in np.split(np.asarray(places), len(places) // group):
        place, wanted = np.unique(lanes, return_counts=True)
        for served in range(wanted.max()):
            words = (place[wanted > served, None] * width // 4 + np.arange(width // 4)) % 32
            total += np.bincount(words.ravel()).max()
    return total


@pytest.mark.parametrize("operation", OPERATIONS)
def test_passes_are_those_of_a_device(operation):
    lanes = np.arange(32)
    expected = OPERATIONS[operation][2]
    for places, passes in zip((0 * lanes + 5, lanes, 2 * lanes), expected, strict=True):
        ((requests, found, fewest),) = counted(operation, places)
        assert (requests, found) == (1, passes), places
        assert fewest == expected[1]


def test_random_places_take_rounds(rng):
    for limit in (1, 2, 7, 32, 33, 100, 1024):
        places = rng.integers(0, limit, 32)
        ((_, adds, _),) = counted("add", places)
        ((_, swaps, _),) = counted("swap", places)
        ((_, exchanges, _),) = counted("exchange_64", places)
        ((_, ones, _),) = counted("add_one", places)
        assert (adds, swaps) == (rounds(places), 2 * rounds(places)), places
        assert exchanges == rounds(places, 8), places
        assert ones == np.bincount(np.unique(places) % 32).max(), places


def test_all_requests_of_a_launch_take_rounds(rng):
    """Requests of one shape and requests of other shapes at one site."""
    warps = [rng.integers(0, 64, 32) for _ in range(4)]
    warps += [warps[0], warps[0] + 32, warps[0] + 64, np.arange(32)]
    ((requests, passes, fewest),) = counted("add", np.concatenate(warps))
    assert (requests, fewest) == (8, 8) and passes == sum(map(rounds, warps))


def test_few_lanes_take_few_turns(rng):
    for lanes in (1, 5, 31):
        places = rng.integers(0, 4, lanes)
        ((_, passes, _),) = counted("add", places)
        assert passes == np.bincount(places).max(), places  # four banks, a word in each


def test_what_has_one_shape_is_told_apart():
    """A load, additions and a compare-and-swap of the same words, one after another."""
    places, out = np.full(32, 7, np.int32), np.zeros(32, np.uint32)
    one, two, swap = counted("all_kinds", places, out)
    assert (one, two, swap) == ((3, 3, 3), (3, 96, 3), (3, 192, 6))
    assert counted("all_kinds", places, out, "load") == [(3, 3, 3)]


def test_a_variable_takes_turns_even_if_it_is_1():
    assert counted("through_a_function", np.zeros(32), 1) == [(1, 32, 1)]
