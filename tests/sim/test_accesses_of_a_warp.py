"""What a warp does to memory is checked as a whole, and findings are those of access by access.

A volatile access to global memory has the accesses of its warp told one by one. So each kernel runs
with one at its start and without, and both have to come to the same finding.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from loading import load

import gpumem as gm

THREADS = 64
SHARED = "__shared__ int s[64];\ns[t] = a[t];\n__syncthreads();\n"

# Name: the finding, None if there is none, and what the threads do to a and b, which are written,
# and u, which is not; all have an int per thread. Lines are counted from 1.
CASES = {
    "in_place": (None, "a[t] = 2 * a[t];"),
    "own_sums": (None, "for (int k = 0; k < 5; k++) b[t] += a[(t + k) % 64];"),
    "neighbours": (
        None,
        "b[t] = a[t];\nif (t > 0) b[t] += a[t - 1];\nif (t < 63) b[t] += a[t + 1];",
    ),
    "own_bytes": (
        None,
        "char *c = (char *)&a[t];\nfor (int k = 0; k < 4; k++) c[k] ^= k;\na[t]++;",
    ),
    "shared_words": (None, "((char *)a)[t] = 1;\n((short *)b)[t] = 2;"),
    "vectors": (None, "if (t < 16) ((int4 *)b)[t] = ((int4 *)a)[15 - t];"),
    "own_new": (None, "u[t] = t;\nb[t] = u[t];\nu[t]++;"),
    "phases": (
        None,
        "a[t] = t;\n__syncthreads();\nb[t] = a[63 - t];\n__syncthreads();\na[t] = b[t];",
    ),
    "warp_phases": (
        None,
        "a[t] = t;\n__syncwarp();\nb[t] = a[t ^ 1];\n__syncwarp();\na[t] = b[t];",
    ),
    "halves": (None, "if (t % 32 < 16) a[t] = b[t];\nelse b[t] = 1;\na[t] += 2;"),
    "store_load": (
        r":1, .*thread \(1, 0, 0\): a race: .* writes over .* read at .*:2",
        "a[t] = t;\nb[t] = a[t ^ 1];",
    ),
    "load_store": (
        r":2, .*thread \(1, 0, 0\): a race|:1, .*thread \(1, 0, 0\): a race",
        "b[t] = a[t ^ 1];\na[t] = t;",
    ),
    "two_stores": (
        r":1, .*thread \(1, 0, 0\): a race: .* writes over .* wrote at .*:1",
        "a[t / 2] = t;",
    ),
    "two_warps": (r":1, .*thread \(32, 0, 0\): a race", "a[t % 32] = t;"),
    "late_race": (r"a race: ", "b[t] = a[t];\na[t] = 1;\nb[t] += 3;\nb[t] += a[(t + 1) % 64];"),
    "bytes_of_a_word": (r"a race: ", "((short *)a)[t] = 1;\n((char *)a)[t] = 2;"),
    "read_by_two": (r":2, .*a race: ", "b[t] = a[t % 32];\na[t] = a[t ^ 1] + 1;"),
    "read_by_earlier_warp": (
        r":1, .*thread \(32, 0, 0\): a race: .* writes over what thread \(31, 0, 0\) read at .*:2",
        "b[t] += 1;\nb[t] += b[63 - t];",
    ),
    "unwritten": (r":1, .*thread \(0, 0, 0\): load of 4 bytes of global .* uninit", "b[t] = u[t];"),
    "partly_unwritten": (
        r":2, .*thread \(40, 0, 0\): load of 4 bytes of global",
        "if (t < 40) u[t] = 1;\nb[t] = u[t];",
    ),
    "unwritten_between": (
        r":3, .*thread \(0, 0, 0\): load of 4 bytes of global .* uninit",
        "if (t < 32) u[2 * t] = t;\nif (t < 32) u[2 * t]++;\nif (t < 32) b[t] = u[2 * t + 1];",
    ),
    "race_first": (r"a race: ", "b[t] = u[(t + 1) % 64];\nu[t] = 1;"),
    "outside_after_race": (r"a race: ", "a[t / 2] = t;\nif (t == 5) b[64] = 1;"),
    "outside_before_race": (
        r":1, .*thread \(0, 0, 0\): store of 4 bytes out of bounds",
        "if (t == 0) b[64] = 1;\na[t / 2] = t;",
    ),
    "local_after_race": (
        r"a race: ",
        "a[t / 2] = t;\nint x[4];\nif (t < 40) x[t % 4] = t;\nb[t] = x[t % 3];",
    ),
    "shared_clean": (
        None,
        SHARED + "b[t] = s[63 - t];",
    ),
    "shared_in_place": (
        None,
        SHARED + "for (int k = 32; k; k /= 2) { if (t < k) s[t] += s[t + k]; __syncthreads(); }",
    ),
    "shared_later_warp": (
        r":4, .*thread \(32, 0, 0\): a race",
        SHARED + "if (t < 32) b[t] = s[t]; else s[t - 32] = 1;",
    ),
    "shared_earlier_warp": (
        r":5, .*thread \(32, 0, 0\): a race",
        SHARED + "if (t < 32) s[t] = 1;\nelse b[t] = s[t - 32];",
    ),
    "shared_own_twice": (None, "__shared__ int s[64];\ns[t] = a[t];\ns[t] += 1;\nb[t] = s[t];"),
    "shared_unwritten": (
        r":2, .*load of 4 bytes of shared",
        "__shared__ int s[64];\nif (t < 40) s[t] = 1; __syncthreads(); b[t] = s[t];",
    ),
    "both_global_first": (
        r":2, .*thread \(1, 0, 0\): a race: .*:2",
        "__shared__ int s[64];\na[t / 2] = t;\ns[t / 2] = t;",
    ),
    "both_shared_first": (
        r":2, .*thread \(1, 0, 0\): a race: .*:2",
        "__shared__ int s[64];\ns[t / 2] = t;\na[t / 2] = t;",
    ),
}


def kernel(name: str, body: str, told: bool) -> str:
    first = "(void)*(volatile int *)v;" if told else ""
    head = f"__global__ void {name}(int *a, int *b, int *u, int *v)"
    return f"#line 1000\n{head} {{ int t = threadIdx.x; {first}\n#line 1\n{body}\n}}\n"


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    path = tmp_path_factory.mktemp("warp") / "warp.cu"
    path.write_text(
        "".join(
            kernel(f"{name}_{told:d}", body, told)
            for name, (_, body) in CASES.items()
            for told in (False, True)
        )
    )
    return load(path)


def finding(module, name: str) -> str | None:
    a, b, v = (gm.to_device(np.zeros(THREADS, "i4"), backend="sim") for _ in range(3))
    u = gm.DeviceArray((THREADS,), "i4", backend="sim")
    found = module.check(name, 1, THREADS, [a, b, u, v])
    # The memory that a stray access is nearest to changes from run to run.
    return None if found is None else re.sub(r"_[01]\b|, \d+ bytes .*", "", str(found))


@pytest.mark.parametrize("name", CASES)
def test_findings_are_those_of_access_by_access(module, name):
    wanted, _ = CASES[name]
    found, told = (finding(module, f"{name}_{i}") for i in range(2))
    assert found == told
    assert found is None if wanted is None else re.search(wanted, found or "")
