"""Which C files tools/mutate.py changes, and which tests can see a fault in each.

A selection is a list of runs of pytest, the quickest first; the first that fails ends it. What no
run here executes is left out: what nvcc alone compiles (`mutations.mask`); kernels for tensor
cores, their plans, cuBLAS and the launch of users' kernels on a GPU, which only a GPU runs;
csrc/sim/cuda and csrc/module, which are in users' modules; and cuda_absent.c.
"""

from __future__ import annotations

import fnmatch
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"
FILES = (
    "csrc/kernels/*/*.cu",
    "csrc/kernels/*/*.c",
    "csrc/kernels/*/*.h",
    "csrc/*.c",
    "csrc/call/*.c",
    "csrc/memory/*.c",
    "csrc/backend/*.c",
    "csrc/python/*.c",
    "csrc/sim/*.c",
    "csrc/sim/observers/*.c",
)
LEFT_OUT = {
    "csrc/backend/cuda_absent.c",
    "csrc/backend/cuda_cublas.c",
    "csrc/backend/cuda_modules.c",
    "csrc/kernels/sgemm/cublas.c",
    "csrc/kernels/sgemm/fp16x3.cu",
    "csrc/kernels/sgemm/fp16x3.h",
    "csrc/kernels/sgemm/fp16x3_multicast.cu",
    "csrc/kernels/sgemm/fp16x3_product.h",
    "csrc/kernels/sgemm/plan_halves.c",
    "csrc/kernels/sgemm/tf32x3.cu",
    "csrc/kernels/sgemm/tf32x3.h",
    "csrc/kernels/transpose/geam.c",
    "csrc/python/device_kernel.c",
}

# The tests of a family, beside test_FAMILY.py and those that the table writes.
FAMILIES = {
    "copy": "test_strided_out test_device_assign",
    "gather": "test_access",
    "matmul": "test_matmul_stacks",
    "permute": "test_order",
    "polynomial": "test_spaces",
    "prefetch_sum": "test_prefetch",
    "sample": "test_spaces",
    "sgemm": "test_matmul test_matmul_stacks test_halves",
    "shift_points": "test_layout",
    "static_value": "test_spaces",
    "scatter_add": "test_gather",
    "strided_read": "test_access test_strided_threads",
    "strided_write": "test_access test_strided_threads",
}
ARRAYS = (
    "test_device_array test_device_elements test_device_assign test_device_repr test_empty_elements"
    " test_astype test_array_like test_subclasses test_refusals test_exchange"
    " test_cuda_array_interface test_device_lifetime test_device_to_host"
)
CALLS = "test_order test_copy test_add test_overlap test_transfer test_strided_out"
# The quick run for files of csrc/python, by how their names begin.
BINDING = {
    "device_assign": "test_device_assign",
    "device_astype": "test_astype",
    "device_elements device_views": "test_device_elements test_device_array test_device_lifetime",
    "device_repr": "test_device_repr test_small_floats",
    "device devices": "test_device_array test_stream_context python/test_functions",
    "dlpack exchange interface adopt borrow producers": "test_exchange test_cuda_array_interface",
    "host": "test_array_like test_exchange test_memory",
    "stream events": "test_stream_context test_threads test_interrupts",
    "transfers": "test_transfer test_device_array test_device_to_host",
    "describe module errors": "python/test_functions test_cuda_errors python/test_cli",
    "traffic hooks": "python/test_traffic sim/test_faults",
    "": "test_refusals test_array_like",
}
# By the pattern that a file fits first: the quick run, then the others.
CORE = {
    "csrc/backend/cuda*.c": ("test_fake_cuda",),
    "csrc/backend/*.c": (
        "test_sim_memory test_memory test_stream_context test_threads sim/test_constants",
        "test_cuda_errors test_forks test_device_array test_spaces test_transfer",
        "sim/test_memory_of_modules modules/test_load test_fake_cuda",
    ),
    "csrc/call/*.c": (
        f"test_kept test_allocation_faults test_refusals {CALLS}",
        "test_threads test_stream_context test_memory test_fake_cuda",
    ),
    "csrc/memory/*.c": (
        "test_allocation_faults test_memory test_transfer test_overlap test_device_array",
        "test_threads test_sim_memory test_forks test_fake_cuda",
    ),
    "csrc/python/*modules.c": ("modules/test_load modules/test_check test_allocation_faults",),
    "csrc/python/textures.c": ("modules/test_texture_objects", "test_fake_cuda"),
    "csrc/python/*.c": (
        ARRAYS,
        "test_memory test_stream_context test_threads python/test_functions python/test_traffic",
        "test_spaces modules/test_load test_fake_cuda",
    ),
    "csrc/sim/loader.c": (
        "modules/test_load modules/test_names modules/test_cache test_little_memory",
        "modules sim dialect",
    ),
    "csrc/sim/observers/*.c": (
        "sim",
        "test_table python/test_traffic",
        "planted dialect features modules/test_check test_prefetch programs",
    ),
    "csrc/sim/tensor.c": ("test_transpose test_matmul_stacks", "sim test_matmul"),
    "csrc/sim/texture*.c": ("test_spaces dialect/test_textures", "sim modules"),
    "csrc/sim/storage.c": ("test_little_memory", "sim modules/test_load"),
    "csrc/sim/*.c": (
        "sim test_sim_memory test_allocation_faults test_little_memory",
        "test_spaces test_table python/test_traffic",
        "planted dialect features modules/test_check modules/test_load test_prefetch programs",
    ),
    "csrc/slice.c": (
        "test_strided_read test_strided_write test_strided_threads test_access",
        "test_fake_cuda",
    ),
    "csrc/per_thread.c": ("test_little_memory test_kept test_allocation_faults",),
    "csrc/*.c": (
        "test_table python/test_functions test_allocation_faults",
        f"{ARRAYS} {CALLS}",
        "test_fake_cuda",
    ),
}


def sources(root: Path) -> list[str]:
    """The files that are changed, relative to the root."""
    found = {str(path.relative_to(root)) for one in FILES for path in root.glob(one)}
    return sorted(found - LEFT_OUT)


def _of_family(family: str) -> str:
    own = f"test_{family}"
    there = own if (TESTS / f"{own}.py").exists() else ""
    return f"{there} {FAMILIES.get(family, '')}".strip()


def _paths(names: str) -> tuple[str, ...]:
    """What pytest is given: folders, and for test_copy also test_copy_sizes.py and the like."""
    found: dict[str, None] = {}
    for one in names.split():
        parts = [] if "test_" not in one else sorted(TESTS.glob(f"{one}_*.py"))
        own = f"tests/{one}.py" if "test_" in one else f"tests/{one}"
        found |= dict.fromkeys([own, *(f"tests/{part.relative_to(TESTS)}" for part in parts)])
    return tuple(found)


def _binding(file: str) -> str:
    known = (tests for names, tests in BINDING.items() if file.startswith(tuple(names.split())))
    return next(known, BINDING[""])


def selection(path: str) -> list[tuple[str, ...]]:
    """The runs of pytest for a file: what pytest is given."""
    if path.startswith("csrc/kernels/"):
        family = Path(path).parent.name
        table = ("tests/test_table.py", "-k", family)
        # The fake device has other limits of the grid than the simulator, and streams.
        late = [_paths("test_fake_cuda")] if path.endswith(".c") else []
        return [table, _paths(_of_family(family)), *late]
    for pattern, runs in CORE.items():
        if fnmatch.fnmatch(path, pattern):
            first = (
                [f"{_binding(Path(path).name)} test_allocation_faults"]
                if pattern == "csrc/python/*.c"
                else []
            )
            return [_paths(names) for names in (*first, *runs)]
    raise ValueError(f"{path} is not among the files that are changed")


def quick(path: str) -> int:
    """How many runs of the selection are quick."""
    return 2 if path.startswith("csrc/kernels/") else 1
