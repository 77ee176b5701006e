"""compare: two results held against each other."""

import copy
import json

import pytest
from results_cases import DEVICE, record, result

import gpumem as gm
from gpumem import cli


def verdicts(before, after, **options):
    found = gm.compare(before, after, **options)
    return {row.variant: row.verdict for row in found.rows}


def test_verdicts():
    before = result(
        record("scalar", 1.0),
        record("vec2", 1.0),
        record("vec4", 1.0),
        record("bulk", 1.0, noise=0.2),
        record("strided", 1.0),
        record("auto", None),
    )
    after = result(
        record("scalar", 1.02),
        record("vec2", 1.1),
        record("vec4", 0.9),
        record("bulk", 1.15, noise=0.2),
        record("struct16", 1.0),
        record("auto", None),
    )
    assert verdicts(before, after) == {
        "scalar": "same",
        "vec2": "slower",
        "vec4": "faster",
        "bulk": "same",  # the difference is within its noise
        "strided": "only before",
        "struct16": "only after",
    }
    assert verdicts(before, after, threshold=0.0)["scalar"] == "slower"
    assert verdicts(before, after, threshold=0.5)["vec2"] == "same"
    found = before.compare(after)
    assert [row.variant for row in found.regressions] == ["vec2"]
    assert found.regressions[0].ratio == pytest.approx(1.1)
    whole = found.to_dict()
    assert json.loads(found.to_json()) == whole
    assert whole["counts"]["slower"] == whole["regressions"] == 1
    text = str(found)
    assert "a device, 2030-01-02, commit 0123456789" in text and "copy-vec2" in text
    assert "1.100" in text and "only before:\n  copy-strided (4 KiB float32 cold)" in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_missing_time_is_reported_with_its_reason():
    failed = record("vec4", None) | {"reason": "wrong result: 3 of 4 elements differ"}
    unavailable = record("bulk", None) | {"reason": "needs compute capability 9.0"}
    before = result(record("vec4", 1.0), record("bulk", 1.0))
    found = before.compare(result(failed, unavailable))
    assert [row.verdict for row in found.rows] == ["only before"] * 2
    assert [row.variant for row in found.regressions] == ["vec4"]
    assert "copy-vec4: wrong result: 3 of 4" in str(found)
    assert not result(failed).compare(before).regressions


def test_drift_differs_from_a_regression():
    """Drift: the variant and the reference are both 10 % slower, so the clocks changed.

    Regression: the variant is 10 % slower and the reference is not, so the code changed.
    """
    before = result(record("vec4", 1.0, reference=2.0), record("memcpy", 2.0, reference=2.0))
    drifted = result(record("vec4", 1.1, reference=2.2), record("memcpy", 2.2, reference=2.2))
    slower = result(record("vec4", 1.1, reference=2.0), record("memcpy", 2.0, reference=2.0))
    hidden = result(record("vec4", 1.0, reference=1.8), record("memcpy", 1.8, reference=1.8))
    assert verdicts(before, drifted) == {"vec4": "drift", "memcpy": "slower"}
    found = before.compare(drifted)
    assert not found.regressions and "copy-memcpy *" in str(found) and "not gpumem's" in str(found)
    assert [row.variant for row in before.compare(slower).regressions] == ["vec4"]
    assert verdicts(before, hidden) == {"vec4": "drift", "memcpy": "faster"}
    assert verdicts(drifted, before)["vec4"] == "drift"


def test_a_reference_that_is_a_gpumem_kernel_can_regress():
    before = result(record("baseline", 1.0, "prefetch_sum", reference=1.0))
    after = result(record("baseline", 1.2, "prefetch_sum", reference=1.2))
    (row,) = before.compare(after).regressions
    assert row.ours and row.reference_ratio is None


def test_transfers_and_round_trips_are_compared():
    def one(variant, ms, **parameters):
        family = "roundtrip" if "by" in parameters else "transfer"
        return record(variant, ms, family, reference=1.0, **parameters) | {"cache": None}

    def run(ms):
        return result(
            one("to_host", ms, kind="pageable", pieces=1),
            one("to_host", ms, kind="pageable_driver", pieces=1),
            one("to_peer", ms, kind="kernel", pieces=1),
            one("copy", ms, by="gpumem", kind="pinned"),
            one("copy", ms, by="numpy", kind="pinned"),
        )

    found = gm.compare(run(1.0), run(2.0))
    assert {row.verdict for row in found.rows} == {"slower"}
    where = [row.where for row in found.regressions]
    assert where == [
        "4 KiB float32 kind=pageable pieces=1",
        "4 KiB float32 kind=kernel pieces=1",
        "4 KiB float32 by=gpumem kind=pinned",
    ]
    assert "roundtrip-copy *" in str(found) and "None" not in str(found)


def host_times(gpumem_ms, driver_ms, kind="pageable", number=6):
    """Transfers: one by gpumem from memory of this kind, and `number` sizes by the driver.

    The driver's times cycle through the list `driver_ms`.
    """
    made = [record("to_host", gpumem_ms, "transfer", kind=kind, pieces=1)]
    for i in range(number):
        one = record("to_host", driver_ms[i % len(driver_ms)], "transfer", kind="pageable_driver")
        made.append(one | {"shape": [2**i]})
    return result(*(one | {"cache": None} for one in made))


def test_the_noise_of_the_host_is_taken_from_driver_times():
    before = host_times(1.0, [1.0])
    for ms, verdict in ((1.25, "same"), (1.35, "slower"), (0.8, "same"), (0.7, "faster")):
        after = host_times(ms, [1.3, 1.0, 0.9])
        found = gm.compare(before, after)
        assert found.rows[0].verdict == verdict
        assert found.host_limits == {"transfer of pageable memory": pytest.approx(0.3)}
    assert found.to_dict()["host_limits"] == found.host_limits
    (limit,) = gm.compare(before, host_times(1.0, [0.8, 1.0])).host_limits.values()
    assert limit == pytest.approx(0.25)  # 1 / 0.8: a faster driver is noise too
    assert "transfer of pageable memory: up to 30.0% is noise" in str(found)
    # Transfers by the driver are judged by their own noise.
    assert found.rows[1].verdict == "slower" and found.rows[2].verdict == "same"


def test_one_outlier_in_twenty_driver_times_is_ignored():
    before, calm = host_times(1.0, [1.0], number=20), [1.0] * 19
    assert not gm.compare(before, host_times(1.0, [*calm, 2.0], number=20)).host_limits
    (limit,) = gm.compare(
        before, host_times(1.0, [*calm[1:], 1.5, 2.0], number=20)
    ).host_limits.values()
    assert limit == pytest.approx(0.5)


def test_few_driver_times_or_other_memory_set_no_limit():
    for kind, number in (("pageable", 4), ("mapped", 6)):
        before = host_times(1.0, [1.0], kind, number)
        found = gm.compare(before, host_times(1.2, [1.3], kind, number))
        assert found.rows[0].verdict == "slower" and len(found.regressions) == 1
    # The limit does not apply to kernels: they are timed with the device's clock.
    kernels = [host_times(1.0, [ms]).records for ms in (1.0, 1.3)]
    before, after = (
        result(record("vec4", ms), *others) for ms, others in zip((1.0, 1.2), kernels, strict=True)
    )
    assert gm.compare(before, after).rows[0].verdict == "slower"


def test_variations_of_the_launch_overhead_are_noise():
    before = result(record("vec4", 0.002, noise=0.01))
    for ms, verdict in ((0.00218, "same"), (0.00225, "slower"), (0.00178, "faster")):
        assert verdicts(before, result(record("vec4", ms, noise=0.01))) == {"vec4": verdict}


def test_repeated_records_are_compared_as_one():
    """The median of their times is compared; the noise covers all of them."""
    before = result(*(record("memcpy", ms) for ms in (1.0, 1.3, 1.1)))
    (row,) = before.compare(result(record("memcpy", 1.2))).rows
    assert row.before_ms == 1.1 and row.before_noise > 0.2 and row.verdict == "same"


def test_warnings_about_different_machines():
    device = DEVICE | {"name": "another", "multiprocessors": 12}
    found = result(record("a", 1.0)).compare(result(record("a", 1.0), device=device, driver="2"))
    assert "another device: a device before, another after" in found.warnings
    assert "another driver: None before, 2 after" in found.warnings
    assert "warning: another multiprocessors: 10 before, 12 after" in str(found)
    slowed = copy.deepcopy(result(record("a", 1.0)))
    slowed.records[0]["throttled"] = ["thermal"]
    assert "held down in 1 of the records" in slowed.compare(slowed).warnings[0]


def test_results_of_two_orders():
    """A call alone is another thing than one in a row: they are not compared, and that is said."""
    stream = result(record("vec4", 1.0))
    single = result(record("vec4", 2.0) | {"order": "single"})
    both = result(*stream.records, *single.records)
    found = stream.compare(single)
    assert [(row.order, row.verdict) for row in found.rows] == [
        ("stream", "only before"),
        ("single", "only after"),
    ]
    assert found.regressions == []
    (warning,) = found.warnings
    assert warning == (
        "another order: stream before, single after; one is not compared with the other"
    )
    assert "copy-vec4 (4 KiB float32 cold, single calls)" in str(found)
    (warning,) = stream.compare(both).warnings
    assert warning.startswith("another order: stream before, single and stream after")
    assert [row.verdict for row in both.compare(both).rows] == ["same", "same"]
    slower = result(record("vec4", 3.0) | {"order": "single"})
    (row,) = single.compare(slower).regressions
    assert row.order == "single" and not single.compare(slower).warnings
    assert single.compare(slower).to_dict()["rows"][0]["order"] == "single"


@pytest.mark.parametrize("threshold", [-0.1, float("nan"), float("inf"), "3 %", True])
def test_invalid_thresholds(threshold):
    with pytest.raises(ValueError, match="threshold"):
        gm.compare(result(), result(), threshold)


def test_nothing_in_common():
    text = str(result().compare(result()))
    assert "0 compared: nothing in common" in text


def test_the_command_line_compares(tmp_path, capsys):
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    result(record("vec4", 1.0), record("vec2", 1.0)).to_json(before)
    result(record("vec4", 1.1), record("vec2", 1.0)).to_json(after)
    words = ["compare", str(before), str(after)]
    assert cli.main(words) == 1
    assert "copy-vec4" in capsys.readouterr().out
    assert cli.main([*words, "--threshold", "0.2"]) == 0
    assert cli.main(["compare", str(after), str(before)]) == 0
    capsys.readouterr()
    assert cli.main([*words, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["regressions"] == 1
    assert cli.main(["compare", "copy-h200", "copy-h200"]) == 0


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema": 9}', '{"schema": 1}', "\xff\xfe"])
def test_the_command_line_rejects_unreadable_files(tmp_path, capsys, content):
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    result(record("vec4", 1.0)).to_json(good)
    bad.write_bytes(content.encode("latin-1"))
    for words in ((good, bad), (bad, good), (good, tmp_path), (good, "no-such"), (good,)):
        assert cli.main(["compare", *map(str, words)]) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.startswith("gpumem: ") and len(err.splitlines()) == 1
    assert cli.main(["compare", str(good), str(good), "--threshold", "-1"]) == 2


# ---- several runs ---------------------------------------------------------------------------


def test_what_runs_differ_by_is_noise():
    """A kernel with two speeds is no regression if both runs of a side have both."""
    fast, slow = result(record("tile", 1.0), record("vec4", 1.0)), result(record("tile", 1.2))
    assert verdicts(fast, slow)["tile"] == "slower"
    assert verdicts([fast, slow], [slow, fast])["tile"] == "same"
    # What is slower in every run, by more than the runs differ, still is.
    before = [result(record("tile", each)) for each in (1.0, 1.02, 1.01)]
    after = [result(record("tile", each)) for each in (1.2, 1.21, 1.19)]
    found = gm.compare(before, after)
    (row,) = found.rows
    assert (row.before_ms, row.after_ms, row.verdict) == (1.01, 1.2, "slower")
    assert "(3 runs)" in str(found) and found.regressions == [row]
    # One list beside a single result.
    assert verdicts(before, after[0]) == {"tile": "slower"}


def test_a_change_counts_if_every_pair_of_runs_shows_it():
    one, slow, same = (result(record("tile", ms, noise=0.0)) for ms in (1.0, 1.3, 1.02))
    assert verdicts(one, [slow, slow]) == {"tile": "slower"}
    # The middle differs by more than the runs do, but one pair shows nothing.
    assert verdicts(one, [slow, same]) == {"tile": "same"}
    assert verdicts([slow, same], one) == {"tile": "same"}
    # What one pair alone has is judged by that pair.
    more = result(record("tile", 1.3), record("vec4", 1.5))
    less = result(record("tile", 1.0), record("vec4", 1.0))
    assert verdicts([one, less], [slow, more]) == {"tile": "slower", "vec4": "slower"}


def test_machines_of_several_runs():
    here, there = result(record("vec4", 1.0)), result(record("vec4", 1.0))
    there.provenance["device"] = dict(DEVICE, name="another device")
    assert not gm.compare([here, here], here).warnings
    for before, after, when in (([here, there], here, "before"), (here, [here, there], "after")):
        (warning,) = gm.compare(before, after).warnings
        assert warning == f"another device: {DEVICE['name']} before, another device {when}"


def test_lists_that_are_none():
    one = result(record("vec4", 1.0))
    with pytest.raises(ValueError, match="before is empty, expected at least one result"):
        gm.compare([], one)
    with pytest.raises(TypeError, match=r"after\[1\] must be a BenchResult, a name or a path"):
        gm.compare(one, [one, 3])
    with pytest.raises(ValueError, match="no-such-result"):
        gm.compare([one, "no-such-result"], one)


def test_the_command_takes_runs_again(tmp_path, capsys):
    paths = []
    for i, ms in enumerate((1.0, 1.2, 1.2, 1.0)):
        path = tmp_path / f"{i}.json"
        result(record("tile", ms)).to_json(path)
        paths.append(str(path))
    assert cli.main(["compare", *paths[:2]]) == 1
    assert cli.main(["compare", *paths[:2], "--again", *paths[2:]]) == 0
    assert "(2 runs)" in capsys.readouterr().out
