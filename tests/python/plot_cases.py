"""What the tests of plots share."""

from gpumem.base.record import FIELDS
from gpumem.base.result import BenchResult

DEVICE = {
    "name": "a device",
    "l2_bytes": 2**20,
    "bandwidth_gbps": 4000.0,
    "fp32_tflops": 60.0,
}


def record(family, variant, gbps, nbytes=2**30, shape=None, flops=None, **more):
    ms = nbytes / gbps / 1e6
    return (
        dict.fromkeys(FIELDS)
        | {
            "family": family,
            "variant": variant,
            "shape": list(shape or (nbytes // 8,)),
            "dtype": "float32",
            "cache": "cold",
            "parameters": {},
            "bytes": nbytes,
            "flops": flops,
            "gbps": gbps,
            "tflops": flops and flops / ms / 1e9,
            "median_ms": ms,
            "p20_ms": 0.9 * ms,
            "p80_ms": 1.25 * ms,
        }
        | more
    )


def result(*records, device=DEVICE):
    return BenchResult(
        list(records), {"device": device, "date": "2030-01-02", "commit": "0123456789abc"}
    )


def product(variant, tflops, n=1024, **more):
    flops, nbytes = 2 * n**3, 12 * n * n
    gbps = nbytes / (flops / tflops / 1e9) / 1e6
    return record("sgemm", variant, gbps, nbytes, (n, n, n), flops, **more)


SGEMM = {
    "naive": 1.0,
    "vec4": 3.8,
    "thread_tile": 7.2,
    "smem": 30.3,
    "smem_transposed": 40.9,
    "hide_smem_latency": 41.8,
    "hide_global_latency": 46.0,
    "warp_tile": 51.3,
    "tf32x3": 110.0,
    "cublas": 50.9,
}


def products():
    return result(*(product(name, rate) for name, rate in SGEMM.items()), product("auto", 46.0))


def transfers():
    return result(
        *(
            record(
                "transfer", "copy", rate * size / (size + 2**20), size,
                parameters={"kind": kind, "direction": direction},
            )
            for direction in ("to_device", "to_host")
            for kind, rate in (("pageable", 9), ("pinned", 55), ("write_combined", 55.2))
            for size in (2**p for p in range(12, 31))
        )
    )  # fmt: skip


def strides(**more):
    rates = {1: 3000.0, 2: 2000.0, 8: 500.0}
    return [
        record("strided_read", name, rate * (1 + (name != "cached")), parameters={"stride": s})
        | more
        for name in ("uncached", "cached")
        for s, rate in sorted(rates.items(), reverse=True)
    ]


def trips():
    times = {"gpumem": 8.0, "numpy": 60.0}
    return [
        record("roundtrip", job, 1.0, size, (size // 8,), cache=None)
        | {"parameters": {"by": by, "kind": kind}, "median_ms": ms * size / 2**20}
        for size in (2**20, 2**21)
        for job in ("copy", "add")
        for by, kind, ms in (
            ("bus", "pinned", 5.0),
            *((by, kind, ms) for kind in ("pageable", "pinned") for by, ms in times.items()),
        )
    ]
