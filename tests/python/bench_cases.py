"""What the tests of bench share."""

from made_up import MadeUpDevice

KEYS = set(
    "family variant backend shape dtype parameters bytes flops cache order median_ms min_ms p20_ms "
    "p80_ms samples gbps tflops fraction_of_peak fraction_of_reference reason ran clock_mhz "
    "power_w temperature_c throttled".split()
)


def make_device():
    return MadeUpDevice()


def by_variant(result):
    return {r["variant"]: r for r in result.records}
