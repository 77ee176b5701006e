"""Files that are no results: one line that names the file, and never the status of a finding."""

import copy
import json

import pytest

import gpumem as gm
from gpumem import cli
from gpumem.base.result import BenchResult

RECORD = {"family": "copy", "variant": "vec4", "dtype": "float32", "shape": [4], "cache": "cold"}


def content(**changes):
    return {"schema": 1, "provenance": {}, "records": [RECORD]} | changes


def record(**changes):
    return json.dumps(content(records=[RECORD | changes])).encode()


DAMAGED = {
    "empty": b"",
    "blank": b" \n",
    "list": b"[]",
    "number": b"3",
    "null": b"null",
    "no UTF-8": b'{"schema": "\xff"}',
    "half": record()[:60],
    "deep lists": b"[" * 10**6,
    "deep objects": b'{"a":' * 10**6,
    "deep and closed": b"[" * 10**5 + b"]" * 10**5,
    "deep provenance": json.dumps(content()).replace("{}", '{"a":' * 300 + "1" + "}" * 300),
    "deep records": json.dumps(content(records=7)).replace("7", "[" * 300 + "]" * 300),
    "long number": b"1" * 10_000,
    "NaN": record(median_ms=float("nan")),
    "infinite": record(median_ms=7).replace(b"7", b"1e999"),
    "huge": record(median_ms=10**400),
    "negative": record(median_ms=-1),
    "true": record(gbps=True),
    "text": record(p20_ms="1"),
    "no family": record(family=None),
    "shape of text": record(shape=["4"]),
    "shape of lists": record(shape=[[4]]),
    "parameters": record(parameters=[1]),
    "nested parameters": record(parameters={"block": {"x": 1}}),
    "reason": record(reason=5),
    "throttled": record(throttled=3),
    "order": record(order=1),
    "transfer": record(family="transfer", cache=None),
    "source": json.dumps(content(provenance={"sources": {}})),
    "records": json.dumps(content(records={"a": 1})),
    "provenance": json.dumps(content(provenance=["device"])),
    "device": json.dumps(content(provenance={"device": "H200"})),
    "bandwidth": json.dumps(content(provenance={"device": {"bandwidth_gbps": "4800"}})),
    "settings": json.dumps(content(provenance={"settings": {"within": "a lot"}})),
    "schema": json.dumps(content(schema=[1])),
    "packed": json.dumps(content(schema=2, common=3, levels={}, fields=[])),
    "packed levels": json.dumps(
        content(schema=2, common={}, levels={"family": []}, fields=["family"], records=[[0]])
    ),
}


@pytest.fixture(params=DAMAGED)
def damaged(request, tmp_path):
    path = tmp_path / "damaged.json"
    text = DAMAGED[request.param]
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "{}", "copy-h200"),
        ("compare", "copy-h200", "{}"),
        ("plot", "{}", "--kind", "size", "-o", "x.png"),
        ("explain", "copy", "vec4", "--results", "{}"),
    ],
    ids=lambda words: f"{words[0]}-{words.index('{}')}",
)
def test_a_damaged_file_is_one_line_and_two(damaged, words, capsys):
    assert cli.main([word.format(damaged) for word in words]) == 2
    out, err = capsys.readouterr()
    assert out == "" and len(err.splitlines()) == 1 and str(damaged) in err and len(err) < 500


def test_a_folder_is_no_result(tmp_path, capsys):
    assert cli.main(["compare", str(tmp_path), "copy-h200"]) == 2
    assert capsys.readouterr().err == f"gpumem: {tmp_path}: Is a directory\n"


JUNK = (
    None,
    True,
    -1,
    0,
    1.5,
    "x",
    "",
    [],
    {},
    [1],
    {"a": 1},
    [[[]]],
    2**63,
    10**400,
    ["a"],
    [None],
)


def spoiled(whole):
    """A result with one thing in it changed or missing, again and again."""
    record, provenance = whole["records"][0], whole["provenance"]
    places = [(("records", 0), record), (("records", 0, "parameters"), record["parameters"])]
    places += [((), whole), (("provenance",), provenance)]
    places += [(("provenance", k), v) for k, v in provenance.items() if isinstance(v, dict)]
    for place, part in places:
        for key in part:
            for junk in (*JUNK, KeyError):
                one = copy.deepcopy(whole)
                inner = one
                for step in place:
                    inner = inner[step]
                if junk is KeyError:
                    del inner[key]
                else:
                    inner[key] = junk
                yield one


@pytest.mark.parametrize("names", [["copy"], ["transfer"], ["roundtrip"], ["add", "gather"]])
def test_what_is_taken_can_be_compared_and_printed(names):
    parts = {name: gm.results[f"{name}-h200"] for name in names}
    merged = BenchResult.merge(parts)
    good = BenchResult(merged.records[:4], merged.provenance)
    taken = 0
    for one in spoiled(json.loads(good.to_json())):
        try:
            result = BenchResult.from_json(json.dumps(one))
        except ValueError as error:
            assert len(str(error).splitlines()) == 1 and str(error).startswith("the text ")
            continue
        taken += 1
        for pair in ((result, good), (good, result)):
            comparison = gm.compare(*pair)
            assert str(comparison) and comparison.to_json()
        assert str(result) and result.to_json() and result.split() is not None
    assert taken > 100  # most of it is not needed to compare


@pytest.mark.parametrize("field", ["bytes", "gbps", "median_ms"])
def test_integers_that_cannot_be_drawn_are_damage(field):
    whole = json.loads(gm.results["copy-h200"].to_json())
    whole["records"][0][field] = 2**63
    with pytest.raises(ValueError, match=f"{field} is {2**63}, expected a number"):
        BenchResult.from_json(json.dumps(whole))


def test_nothing_in_common_is_no_good_news(tmp_path, capsys):
    for name in ("copy", "gather"):
        gm.results[f"{name}-h200"].filter(family=name).to_json(tmp_path / f"{name}.json")
    files = [str(tmp_path / f"{name}.json") for name in ("copy", "gather")]
    for words in (files, ["copy-h200", "gather-h200"], [*files, "--json"]):
        assert cli.main(["compare", *words]) == 2
        out, err = capsys.readouterr()
        assert out == "" and "nothing to compare" in err and len(err.splitlines()) == 1
    assert "has copy" in err and "has gather" in err
    none = tmp_path / "none.json"
    gm.bench("copy", "scalar", "4K", backend="sim").to_json(none)
    assert cli.main(["compare", str(none), "copy-h200"]) == 2
    assert capsys.readouterr().err.endswith(f"{none} has no times\n")
    assert cli.main(["compare", "copy-h200", "copy-h200"]) == 0


def test_a_wrong_result_is_a_finding_though_it_has_no_time(tmp_path):
    before = gm.results["copy-h200"].filter(variant="vec4")
    after = copy.deepcopy(before)
    for one in after.records:
        one |= {"median_ms": None, "reason": "wrong result: 1 of 4 elements differ"}
    for name, result in (("before", before), ("after", after)):
        result.to_json(tmp_path / name)
    assert cli.main(["compare", str(tmp_path / "before"), str(tmp_path / "after")]) == 1
