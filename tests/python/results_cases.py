"""What the tests of results share."""

from gpumem.base.record import FIELDS
from gpumem.base.result import BenchResult

DEVICE = {"name": "a device", "multiprocessors": 10, "memory_bytes": 2**30}


def record(variant, ms, family="copy", shape=(1024,), noise=0.01, reference=None, **parameters):
    nbytes = 8 * shape[0]
    one = dict.fromkeys(FIELDS) | {
        "family": family,
        "variant": variant,
        "ran": variant,
        "backend": "cuda",
        "shape": list(shape),
        "dtype": "float32",
        "parameters": parameters,
        "bytes": nbytes,
        "cache": "cold",
        "samples": 11,
    }
    if ms is not None:
        one |= {"median_ms": ms, "min_ms": ms, "gbps": nbytes / ms / 1e6}
        one |= {"p20_ms": ms * (1 - noise / 2), "p80_ms": ms * (1 + noise / 2)}
        one["fraction_of_reference"] = reference and reference / ms
    return one


def result(*records, **provenance):
    common = {"device": DEVICE, "date": "2030-01-02T03:04", "commit": "0123456789abcdef"}
    return BenchResult(list(records), common | provenance)
