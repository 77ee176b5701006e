"""tools/measure_host_memory.py on the simulator, with the host's clock."""

import json
import sys
from pathlib import Path

import pytest
from made_up import ClockedSimulator

import gpumem as gm

sys.path.append(str(Path(__file__).resolve().parent.parent / "tools"))  # where they find each other

import measure_host_memory as tool

QUICK = ("--samples", "1", "--counts", "1,3")


class Watched(ClockedSimulator):
    """The simulator, which remembers what arrays were made."""

    def __init__(self):
        super().__init__()
        self.made = []

    def host_array(self, shape, dtype, kind):
        self.made.append((kind, shape))
        return super().host_array(shape, dtype, kind)


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["measure_host_memory.py", *words])
    device = Watched()
    monkeypatch.setattr(tool, "open_device", lambda backend: device)
    tool.main()
    return device


def test_every_kind_is_measured(monkeypatch, tmp_path, capsys):
    file = tmp_path / "found.json"
    run(monkeypatch, *QUICK, "--sizes", "4K,16K", "--json", str(file))
    found = json.loads(file.read_text())
    assert found["samples"] == 1 and found["provenance"]["backend"] == "sim"
    assert [(one["bytes"], one["way"]) for one in found["add"]] == [
        (nbytes, way) for nbytes in (4096, 16384) for way in tool.WAYS
    ]
    for one in found["add"]:
        assert one["gbps"] == pytest.approx(3 * one["bytes"] / one["ms"] / 1e6)
    assert [(one["kind"], one["pool"]) for one in found["allocation"][:12]] == [
        (kind, pool) for kind in (*tool.KINDS, "device") for pool in ("empty", "filled")
    ]
    touched = {one["kind"] for one in found["allocation"] if one["touched_us"]}
    assert touched == set(tool.KINDS)
    assert {one["count"] for one in found["small"]} == {1, 3}
    assert len({one["way"] for one in found["small"]}) == 4
    assert all(one["us"] > 0 for one in found["small"] + found["allocation"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == sum(len(found[name]) for name in ("add", "allocation", "small"))


def test_managed_memory_stays_small(monkeypatch):
    monkeypatch.setattr(tool, "MOST_MANAGED", 4096)
    device = run(monkeypatch, *QUICK, "--sizes", "4K,8K")
    sizes = {kind: {shape for one, shape in device.made if one == kind} for kind in tool.KINDS}
    assert sizes["managed"] == {(1024,), (4096,)}  # float32 to be added, bytes to be allocated
    assert {(2048,), (8192,)} <= sizes["mapped"]


def test_a_pool_is_emptied_before_each_cold_allocation(monkeypatch):
    events = []
    device = Watched()
    array = device.host_array
    monkeypatch.setattr(gm, "pool_trim", lambda backend: events.append("trim"))
    monkeypatch.setattr(device, "host_array", lambda *a: events.append("make") or array(*a))
    tool.allocation(device, "pinned", 4096, cold=True, touched=True)(2)
    assert events == ["trim", "make"] * 2
    events.clear()
    tool.allocation(device, "pinned", 4096, cold=False, touched=False)(2)
    assert events == ["make"] * 2


def test_a_wrong_sum_is_an_error(monkeypatch):
    way = tool.WAYS["pinned"]
    add = tool.addition(Watched(), way, 8192)
    monkeypatch.setattr(gm, "add", lambda a, b, out, variant, backend: out.fill(2))
    with pytest.raises(ValueError, match="explicit in pinned memory: the sum is wrong"):
        add(1)


def test_bytes_that_do_not_arrive_are_an_error(monkeypatch):
    device = Watched()
    monkeypatch.setattr(device, "transfer", lambda *a, **k: None)
    with pytest.raises(ValueError, match="3 small arrays: what arrived differs"):
        tool.measure_small(device, 3, 1)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--sizes", "1000"], "--sizes has 1000, no multiple of 4096"),
        (["--samples", "0"], "--samples is 0, expected at least 1"),
    ],
)
def test_what_it_does_not_take(words, told, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, *words)
    assert told in capsys.readouterr().err
