"""What transfers and round trips have in common: arguments, records, limits, the command line."""

import json
import math

import pytest

import gpumem as gm
from gpumem import cli
from gpumem.base.record import NO_TIMES
from gpumem.base.result import BenchResult
from gpumem.base.wall_clock import FAMILIES
from gpumem.measure import transfers
from gpumem.measure.recording import Interrupted

KINDS = transfers.KINDS
QUICK = {"samples": (1, 2)}


# ---- what is asked for --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "arguments", "error", "words"),
    [
        ("transfer", {"variants": "up"}, ValueError, "variant is 'up', expected one of: to_device"),
        ("transfer", {"variants": []}, ValueError, "variant must name"),
        ("transfer", {"variants": gm.variants("copy")[0]}, TypeError, "copy-scalar"),
        ("transfer", {"kind": "device"}, ValueError, "kind is 'device', expected one of: pageable"),
        ("transfer", {"kind": []}, ValueError, "kind must name"),
        ("transfer", {"pieces": 0}, ValueError, "pieces is 0, expected 1 to 65536"),
        ("transfer", {"pieces": [1, 2**17]}, ValueError, "pieces is 131072"),
        ("transfer", {"pieces": []}, ValueError, "pieces must"),
        ("transfer", {"pieces": "many"}, TypeError, "pieces must .*'many'"),
        ("transfer", {"pieces": True}, TypeError, "pieces must .*bool"),
        ("transfer", {"stride": 2}, TypeError, "transfer has no parameter 'stride'.*kind, pieces"),
        ("transfer", {"sizes": "4Q"}, ValueError, "4Q"),
        ("transfer", {"with_peers": ["cupy"]}, ValueError, "with_peers is .*: a transfer has none"),
        ("transfer", {"dtype": "f4"}, ValueError, "dtype is 'f4'"),
        ("transfer", {"shapes": [3]}, ValueError, r"shapes is \[3\]"),
        ("transfer", {"cache": "both"}, ValueError, "cache is 'both'"),
        ("transfer", {"samples": (3, 2)}, ValueError, "samples"),
        ("transfer", {"backend": "quantum"}, ValueError, "quantum"),
        ("roundtrip", {"variants": "gather"}, ValueError, "variant is 'gather'.*transpose"),
        ("roundtrip", {"kind": "managed"}, ValueError, "kind is 'managed'.*pinned"),
        ("roundtrip", {"pieces": 2}, TypeError, "roundtrip has no parameter 'pieces'"),
        ("roundtrip", {"with_peers": ["jax"]}, ValueError, "with_peers is 'jax'.*numpy, cupy"),
        ("roundtrip", {"sizes": 3}, ValueError, "3 bytes are less than one element"),
    ],
)
def test_refusals(family, arguments, error, words):
    with pytest.raises(error, match=words):
        gm.bench(family, **{"sizes": 4096, "backend": "sim"} | arguments)


def test_the_simulator_has_no_times():
    result = gm.bench("transfer", sizes="64K,1M", backend="sim")
    assert len(result.records) == 2 * (3 * len(KINDS) + 2)
    assert all(r["median_ms"] is None and r["samples"] is None for r in result.records)
    reasons = {r["reason"] for r in result.records if r["parameters"]["kind"] == "pinned"}
    assert reasons == {NO_TIMES}
    trips = gm.bench("roundtrip", sizes="64K", with_peers=iter(["numpy"]), backend="sim")
    assert {r["reason"] for r in trips.records} == {NO_TIMES}
    assert len(trips.records) == 4 * (1 + 2 * 3)
    for one in (result, trips):
        assert f"No times: {NO_TIMES}." in str(one)
        assert BenchResult.from_json(one.to_json()).records == one.records


def test_sizes_by_default():
    def sizes(family, name):
        records = gm.bench(family, name, backend="sim", kind="pinned").records
        return list(dict.fromkeys(math.prod(r["shape"]) for r in records))

    assert sizes("transfer", "to_host") == [2**i for i in range(16, 31, 2)]
    assert sizes("roundtrip", "copy") == [2**i for i in range(18, 27, 2)]


def test_progress_and_settings():
    steps = []
    result = gm.bench(
        "roundtrip",
        ["copy", "sgemm"],
        "1M",
        with_peers=(),
        progress=lambda *one: steps.append(one),
        backend="sim",
        **QUICK,
    )
    words = ["roundtrip copy 1 MiB", "roundtrip sgemm 512x512", "done"]
    assert steps == [(i, 2, word) for i, word in enumerate(words)]
    settings = result.provenance["settings"]
    assert settings["parameters"] == {"kind": ["pageable", "pinned"], "with_peers": []}
    assert (settings["least"], settings["most"]) == (1, 2)
    chosen = gm.bench(
        "transfer", "both", 4096, pieces=range(1, 3), kind="mapped", backend="sim", **QUICK
    )
    asked = chosen.provenance["settings"]["parameters"]
    assert asked == {"kind": ["mapped"], "pieces": [1, 2]}
    json.loads(chosen.to_json())


@pytest.mark.parametrize("family", FAMILIES)
def test_an_interrupt_keeps_what_was_measured(clock, family):
    def interrupt(done, total, text):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as stopped:
        clock.bench(family, sizes="64K,128K", kind="pinned", progress=interrupt, **QUICK)
    result = stopped.value.result
    whole = clock.bench(family, sizes="64K,128K", kind="pinned", **QUICK)
    assert result.provenance["interrupted"] and 0 < len(result.records) <= len(whole.records)
    assert any(r["median_ms"] for r in result.records)


def test_what_comes_after_the_time_is_over_says_so(clock):
    late = clock.bench("transfer", sizes="64K", kind="pinned", timeout=0, **QUICK)
    reasons = {r["reason"] for r in late.records if r["variant"] != "to_peer"}
    assert reasons == {"not measured: the 0 s were over"}
    with pytest.raises(ValueError, match="timeout must be 0 or more"):
        clock.bench("transfer", timeout=-1, **QUICK)


# ---- the command line ---------------------------------------------------------------------------


def test_the_command_line(capsys, monkeypatch):
    monkeypatch.setenv("GPUMEM_BACKEND", "sim")
    command = ["bench", "transfer", "--set", "kind=pinned,pageable", "--set", "pieces=1,2"]
    assert cli.main([*command, "--sizes", "4K", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    kinds = {r["parameters"]["kind"] for r in found["records"]}
    assert kinds == {"pinned", "pageable", "device"}
    assert cli.main(["bench", "roundtrip", "--variants", "copy", "--peers", "numpy"]) == 0
    assert NO_TIMES in capsys.readouterr().out
    assert cli.main(["bench", "transfer", "--dtype", "f4"]) == 2
    assert "dtype" in capsys.readouterr().err
    for command in ("traffic", "verify", "list"):
        assert cli.main([command, "transfer"]) == 2
        assert "there is no family 'transfer'" in capsys.readouterr().err
