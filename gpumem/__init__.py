"""A laboratory for GPU memory: every classic way of moving data, to call, check and measure.

>>> import numpy as np
>>> import gpumem as gm
>>> gm.copy(np.arange(4))
array([0, 1, 2, 3])
>>> gm.traffic("copy", variant="vec4", shape=2**20).loads.sectors_per_request
16.0
"""

from __future__ import annotations

from ._core import (
    CudaError,
    DeviceArray,
    SimulationError,
    Stream,
    UnavailableError,
    backend,
    empty,
    from_dlpack,
    memory_kind,
    pool_info,
    pool_trim,
    synchronize,
    to_device,
)
from .base.result import BenchResult
from .base.version import __version__
from .check.checking import check
from .check.finding import Finding
from .check.findings import Report
from .count.sass import Sass, sass
from .count.traffic import Traffic, traffic
from .cuda_c.errors import CompileError
from .families.add import add
from .families.chase import chase
from .families.copy import copy
from .families.gather import gather
from .families.histogram import histogram
from .families.matmul import matmul
from .families.permute import permute
from .families.polynomial import polynomial
from .families.prefetch_sum import prefetch_sum
from .families.reduce import reduce
from .families.sample import sample
from .families.scan import scan
from .families.scatter_add import scatter_add
from .families.sgemm import sgemm
from .families.shift_points import shift_points
from .families.static_value import static_value
from .families.stream import stream
from .families.strided_read import strided_read
from .families.strided_write import strided_write
from .families.table import Variant, families, variants
from .families.transpose import transpose
from .machine.devices import info
from .measure.bench import bench
from .measure.suite import bench_all
from .modules.kernel import Kernel
from .modules.launch import Launch
from .modules.loading import load
from .modules.module import Module, get_symbol, set_symbol
from .modules.textures import Surface, Texture, surface, texture
from .report.advice import prefetch_advice, prefetch_table
from .report.checkup import Checkup, doctor
from .report.comparison import compare
from .report.explanation import Explanation, KernelExplanation, explain
from .report.presentation import Presentation
from .results import RESULTS as results

# Results and reports show themselves through this: their floors import nothing from above.
BenchResult.presentation = Traffic.presentation = Presentation()

__all__ = [
    "BenchResult",
    "Checkup",
    "CompileError",
    "CudaError",
    "DeviceArray",
    "Explanation",
    "Finding",
    "Kernel",
    "KernelExplanation",
    "Launch",
    "Module",
    "Report",
    "Sass",
    "SimulationError",
    "Stream",
    "Surface",
    "Texture",
    "Traffic",
    "UnavailableError",
    "Variant",
    "__version__",
    "add",
    "backend",
    "bench",
    "bench_all",
    "chase",
    "check",
    "compare",
    "copy",
    "doctor",
    "empty",
    "explain",
    "families",
    "from_dlpack",
    "gather",
    "get_symbol",
    "histogram",
    "info",
    "load",
    "matmul",
    "memory_kind",
    "permute",
    "polynomial",
    "pool_info",
    "pool_trim",
    "prefetch_advice",
    "prefetch_sum",
    "prefetch_table",
    "reduce",
    "results",
    "sample",
    "sass",
    "scan",
    "scatter_add",
    "set_symbol",
    "sgemm",
    "shift_points",
    "static_value",
    "stream",
    "strided_read",
    "strided_write",
    "surface",
    "synchronize",
    "texture",
    "to_device",
    "traffic",
    "transpose",
    "variants",
]
