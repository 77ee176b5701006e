"""The cross-check of the simulator with the hardware's counters: the tool, and its result."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gpumem as gm

ROOT = Path(__file__).resolve().parent.parent
RESULTS = sorted((ROOT / "docs").glob("crosscheck-*.json"))
NOT_IN_IT = {  # younger than the result
    *(("copy", f"struct{size}") for size in (12, 20, 24, 32)),
    *{("copy", "shifted:unrolled"), ("copy", "shifted:stream"), ("gather", "checked")},
    ("add", "shifted"),
    ("prefetch_sum", "bulk"),  # requests otherwise than when it was measured
    ("sgemm", "stream_k"),
    *{("gather", "words"), ("strided_read", "words")},
}


def load_tool():
    path = ROOT / "tools" / "crosscheck_ncu.py"
    specification = importlib.util.spec_from_file_location("crosscheck_ncu", path)
    module = importlib.util.module_from_spec(specification)
    sys.modules["crosscheck_ncu"] = module
    sys.path.insert(0, str(path.parent))
    specification.loader.exec_module(module)
    return module


tool = load_tool()
reader = sys.modules["ncu"]
rules = sys.modules["crosscheck_rules"]

RAW = """\
# {"sizes": [65536]}
==PROF== Connected to process 4711 (/usr/bin/python3.12)
==PROF== Profiling "copy_vec4" - 0: 0%....50%....100% - 3 passes
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size",\
"Grid Size","Device","CC","l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",\
"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",\
"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio",\
"smsp__inst_executed_op_shared_ld.sum"
"","","","","","","","","","","","request","sector","sector/request","inst"
"0","4711","python3.12","127.0.0.1","copy_vec4","1","7","(256, 1, 1)","(16, 1, 1)","0","9.0",\
"1,024","16384","16.00","n/a"
"1","4711","python3.12","127.0.0.1","void copy_odd<4>(copy_args)","1","7","(32, 8, 1)",\
"(4, 2, 1)","0","9.0","2","8","0","nan"
==PROF== Disconnected from process 4711
"""

DETAILS = """\
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size",\
"Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"
"0","4711","python3.12","127.0.0.1","copy_vec4","1","7","(256, 1, 1)","(16, 1, 1)","0","9.0",\
"Command line profiler metrics","l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum","request","1,024"
"0","4711","python3.12","127.0.0.1","copy_vec4","1","7","(256, 1, 1)","(16, 1, 1)","0","9.0",\
"Command line profiler metrics","smsp__inst_executed_op_shared_ld.sum","inst","0"
"""


# ---- reading what ncu prints --------------------------------------------------------------


def test_the_raw_page_has_a_row_for_each_launch():
    first, second = reader.read_csv(RAW)
    assert first["kernel"] == "copy_vec4" and second["kernel"] == "copy_odd"
    assert first["grid"] == [16, 1, 1] and second["block"] == [32, 8, 1]
    assert first["metrics"] == {
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 1024,
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 16384,
        "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio": 16,
        "smsp__inst_executed_op_shared_ld.sum": None,
    }
    assert second["metrics"]["smsp__inst_executed_op_shared_ld.sum"] is None
    figures = tool.hardware_figures(first["metrics"])
    assert figures["load_requests"] == 1024 and figures["load_sectors_per_request"] == 16
    assert figures["store_requests"] is None and figures["store_sectors_per_request"] == 16


def test_the_details_page_has_a_row_for_each_metric():
    (launch,) = reader.read_csv(DETAILS)
    assert launch["kernel"] == "copy_vec4"
    assert launch["metrics"] == {
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 1024,
        "smsp__inst_executed_op_shared_ld.sum": 0,
    }


def test_no_csv_is_no_launches():
    assert reader.read_csv("==ERROR== no kernels were profiled\n") == []


def test_unknown_metrics_are_found_in_the_errors():
    said = "==PROF== x__y.sum\n==ERROR== Failed to find metric smsp__inst_executed_op_global_ld.sum"
    wanted = ["smsp__inst_executed_op_global_ld.sum"]
    assert reader.refused_metrics(said, reader.METRICS) == wanted
    assert reader.refused_metrics(said.replace(".sum", ""), reader.METRICS) == wanted
    assert reader.refused_metrics("==ERROR== out of luck", reader.METRICS) == []


# ---- comparing ----------------------------------------------------------------------------


def figures(**changes):
    names = [f"{group}_{n}" for group, all in tool.GROUPS.items() for n in (*all, "uncertain")]
    return dict.fromkeys(names, 0) | changes


def test_equal_figures_agree_and_others_need_a_reason():
    verdict = tool.judge(
        "transpose-tile, full",
        figures(load_requests=10, shared_load_requests=4, shared_load_passes_per_request=32.0),
        figures(load_requests=11, shared_load_requests=4, shared_load_passes_per_request=32.2),
        [],
    )
    assert verdict["agrees"]["load_requests"] is False
    assert verdict["agrees"]["shared_load_passes_per_request"] is False
    assert verdict["agrees"]["load_sectors"] is True
    assert list(verdict["why"]) == ["shared_load_passes_per_request"]
    assert tool.unexplained(verdict) == ["load_requests"]


def test_engines_and_missing_figures_are_not_compared():
    missing = figures(store_requests=3, store_sectors=None)
    verdict = tool.judge("copy-bulk, full", figures(store_requests=3), missing, ["load", "store"])
    assert verdict["agrees"]["load_requests"] is verdict["agrees"]["store_sectors"] is None
    assert verdict["agrees"]["store_requests"] is True  # by threads, beside the engine
    assert verdict["why"]["load_requests"] == rules.ENGINE
    assert "counter" in verdict["why"]["store_sectors"]
    assert not any(name.startswith("shared") for name in verdict["agrees"])  # nothing happened


def test_what_depends_on_time_is_not_compared():
    ours = figures(load_requests=10, load_sectors=10, store_requests=4, shared_load_requests=3)
    theirs = ours | {"load_requests": 90, "store_requests": 5}
    verdict = tool.judge("scan-look_back, float32", ours, theirs, [])
    assert verdict["agrees"]["load_requests"] is verdict["agrees"]["load_sectors"] is None
    assert "depends on time" in verdict["why"]["load_requests"]
    assert verdict["agrees"]["shared_load_requests"] is True
    assert tool.unexplained(verdict) == ["store_requests"]
    verdict = tool.judge("scan-shuffles, float32", ours, theirs, [])
    assert tool.unexplained(verdict) == ["load_requests", "store_requests"]


def test_loads_after_additions_are_not_compared_up_to_twice_the_passes():
    call = "scatter_add-shared, random, int32"
    names = ("shared_load_passes_per_request", "shared_load_conflicts")
    ours = figures(shared_load_requests=100, shared_load_passes_per_request=1.0)
    for requests, passes, chance in [(100, 1.0, 1), (100, 2.0, 1), (100, 2.1, 0), (90, 1.5, 0)]:
        theirs = ours | dict(zip(names, (passes, 100), strict=True))
        theirs["shared_load_requests"] = requests
        verdict = tool.judge(call, ours, theirs, [])
        assert all((verdict["agrees"][name] is None) == bool(chance) for name in names)
        assert verdict["agrees"]["shared_load_requests"] is (requests == 100)
        assert set(names) <= {*verdict["why"], *tool.unexplained(verdict)}
    other = tool.judge("scatter_add-shared, one place, int32", ours, theirs, [])
    assert None not in other["agrees"].values()


def test_joined_words_explain_at_most_four_in_one():
    ours = {"shared_load_requests": 40, "shared_load_passes_per_request": 1.0}
    for requests, passes, explained in [(10, 1.0, True), (9, 1.0, False), (20, 2.5, False)]:
        theirs = {"shared_load_requests": requests, "shared_load_passes_per_request": passes}
        why = reason("shared_load_requests", ours, theirs, "scan-shuffles, int64")
        assert ("joins" in why) == explained


def test_what_an_engine_moves_is_told_apart():
    call = next(tool.calls(tool_variant("copy", "bulk"), 2**16))
    simulated, engines = tool.simulator_figures(tool.simulate(tool_variant("copy", "bulk"), call))
    assert engines[:2] == ["load", "store"]
    assert simulated["load_requests"] == simulated["store_requests"] == 0


def tool_variant(family, name):
    return next(v for v in gm.variants(family) if v.name == name)


@pytest.mark.parametrize(("wish", "count"), [("132", 132), ("1", 1), ("", 16)])
def test_the_simulator_plans_for_as_many_multiprocessors(wish, count):
    """A narrow matrix is cut into pieces, so that there is one for each."""
    code = (
        "import gpumem as gm\n"
        "(device,) = gm.info()['backends']['sim']['devices']\n"
        "t = gm.traffic('transpose', variant='narrow', shape=(32765, 11))\n"
        "print(device['multiprocessors'], t.grid[0])"
    )
    said = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {tool.MULTIPROCESSORS: wish, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    multiprocessors, blocks = map(int, said.split())
    assert multiprocessors == count <= blocks
    assert (blocks >= 132) == (count == 132)


# ---- calls of several kernels, and atomic operations --------------------------------------


def counters(figures):
    """Return the counters of a kernel that have these figures."""
    metrics = {}
    for kind, op in (("load", "ld"), ("store", "st"), ("atomic", "red")):
        for name in ("requests", "sectors"):
            metric = f"l1tex__t_{name}_pipe_lsu_mem_global_op_{op}.sum"
            metrics[metric] = figures[f"{kind}_{name}"]
    for kind, op in (("load", "ld"), ("store", "st"), ("atomic", "atom")):
        requests = figures[f"shared_{kind}_requests"]
        passes = requests * (figures[f"shared_{kind}_passes_per_request"] or 0)
        metrics[f"smsp__inst_executed_op_shared_{op}.sum"] = requests
        metrics[f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"] = passes
        conflicts = figures.get(f"shared_{kind}_conflicts", 0)
        metrics[f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum"] = conflicts
    return dict.fromkeys((*reader.METRICS, *reader.ATOMIC), 0) | metrics


def as_ncu_prints(launches):
    """Return the CSV of launches: pairs of a kernel's name and its counters."""
    names = [*launches[0][1]]
    lines = [["ID", "Kernel Name", "Grid Size", "Block Size", *names]]
    for i, (kernel, metrics) in enumerate(launches):
        values = ["n/a" if n.endswith(".ratio") else f"{metrics[n]:,}" for n in names]
        lines.append([str(i), kernel, "(1, 1, 1)", "(32, 1, 1)", *values])
    return "".join(",".join(f'"{cell}"' for cell in line) + "\n" for line in lines)


@pytest.mark.parametrize("family", [f for f in tool.FAMILIES if f not in tool.MOVING])
def test_counters_like_the_simulators_agree(family, capsys):
    """Every call runs, launches no kernel that is not profiled, and is compared with its own.

    Of a call that launches several kernels each is given a part.
    """
    nbytes = 100_000  # several blocks, of any kernel of reduce
    told, seen = [], []
    profiled = set(tool.kernels([family]))
    for variant in tool.checked([family]):
        cases = [*tool.calls(variant, nbytes)]
        assert cases and len({call.case for call in cases}) == len(cases)
        for call in cases:
            report = tool.simulate(variant, call)
            figures, _ = tool.simulator_figures(report)
            names = [tool.owner(one["name"], profiled) for one in report.kernels]
            assert names.count(tool.kernel(family, variant.name)) == 1
            assert profiled.issuperset(names)
            rest = counters(figures)
            for name in names[1:]:
                part = {metric: value // 3 for metric, value in rest.items()}
                rest = {metric: value - part[metric] for metric, value in rest.items()}
                seen.append((name, part))
            seen.insert(len(seen) - len(names) + 1, (names[0], rest))
            told.append({"family": family, "variant": variant.name})
            told[-1] |= {"bytes": nbytes, "case": call.case}
    found = tool.records({"launches": told}, as_ncu_prints(seen))
    assert capsys.readouterr().err == ""
    for record in found:
        assert record["hardware"] and record["agrees"], record["why"]
        assert set(record["agrees"].values()) <= {True, None}, record
        assert all(record["why"][name] for name, same in record["agrees"].items() if same is None)
    if family in ("reduce", "scan", "histogram", "scatter_add"):
        assert any("atomic_sectors" in record["agrees"] for record in found)
    several = {r["variant"]: r["kernels"] for r in found if "kernels" in r}
    if family == "reduce":
        assert several["two_pass"] == ["reduce_two_pass", "reduce_add_partials"]
        assert several["last_block"] == ["reduce_zeros", "reduce_last_block"]
    if family == "scan":
        assert several["shuffles"] == ["scan_tile_sums", "scan_scan_sums", "scan_shuffles"]
        assert several["look_back"] == ["scan_zeros", "scan_look_back"]


def test_a_launch_that_is_missing_is_told():
    launch = {"family": "reduce", "variant": "two_pass", "bytes": 65536, "case": "float32"}
    row = ("reduce_two_pass", counters(figures()))
    (record,) = tool.records({"launches": [launch]}, as_ncu_prints([row]))
    assert record["hardware"] is None
    assert record["why"]["hardware"] == "ncu shows no launch of reduce_add_partials"


def test_the_next_call_gets_its_own_after_one_that_is_not_complete():
    launches = [
        {"family": "reduce", "variant": "last_block", "bytes": 65536, "case": case}
        for case in ("float32", "one block")
    ]
    rows = [("reduce_last_block", counters(figures(load_requests=n))) for n in (1, 2)]
    first, second = tool.records({"launches": launches}, as_ncu_prints(rows))
    assert first["why"]["hardware"] == "ncu shows no launch of reduce_zeros"
    assert second["hardware"]["load_requests"] == 2


def test_counters_of_launches_add_up_if_they_are_counts():
    one = {"a.sum": 1.0, "b.sum": None, "c.ratio": 2.0}
    assert tool.added_up([one]) == one
    assert tool.added_up([one, one | {"b.sum": 2.0}]) == {"a.sum": 2.0, "b.sum": None}


def test_calls_of_random_inputs_are_the_same_each_time():
    """The device and the simulator get the same."""
    for variant in tool.checked(["scatter_add", "permute"]):
        for call in tool.calls(variant, 4096):
            for a, b in zip(call.arrays(), call.arrays(), strict=True):
                assert a.tobytes() == b.tobytes()


# ---- the whole tool, with a stand-in for ncu ----------------------------------------------

NCU = """\
#!{python}
import json, subprocess, sys
arguments = sys.argv[1:]
if "--version" in arguments:
    sys.exit(print("Version 2099.1.0.0 (build 1)"))
metrics = arguments[arguments.index("--metrics") + 1].split(",")
log = open(arguments[arguments.index("--log-file") + 1], "w")
unknown = [m for m in metrics if m.startswith("smsp__inst_executed_op_shared")]
if unknown:
    print("==ERROR== Failed to find metric", unknown[0], file=log)
    sys.exit(1)
program = arguments[arguments.index({python!r}) :]
subprocess.run(program, check=True)
told = json.load(open(program[program.index("--run") + 1]))
names = ["ID", "Kernel Name", "Grid Size", "Block Size", *metrics]
print(",".join(f'"{{n}}"' for n in names), file=log)
for i, one in enumerate(told["launches"]):
    cell = lambda name: "n/a" if name.endswith(".ratio") else i
    name = f"{{one['family']}}_{{one['variant'].replace(':', '_')}}"
    for j, kernel in enumerate(("copy_helper", name)):
        cells = [2 * i + j, kernel, "(1, 1, 1)", "(1, 1, 1)", *map(cell, metrics)]
        print(",".join(f'"{{c}}"' for c in cells), file=log)
"""


def test_the_tool_from_launch_to_json(tmp_path):
    ncu = tmp_path / "ncu"
    ncu.write_text(NCU.format(python=sys.executable))
    ncu.chmod(0o755)
    command = [sys.executable, str(ROOT / "tools" / "crosscheck_ncu.py"), "--families", "copy"]
    command += ["--sizes", "64K,50001", "-o"]
    environment = os.environ | {"NCU": str(ncu), "GPUMEM_BACKEND": "sim", "PYTHONPATH": str(ROOT)}
    output = tmp_path / "out.json"

    def run(*more):
        done = subprocess.run([*command, *more], env=environment, capture_output=True, text=True)
        assert done.returncode == 1, done.stderr  # the stand-in's figures are made up
        return done.stdout

    said = run(str(output))
    assert "ncu does not know smsp__inst_executed_op_shared_ld.sum" in said
    assert "op_st.ratio" in said.splitlines()[0]  # known, but never a number
    result = json.loads(output.read_text())
    assert result["ncu"] == "2099.1.0.0" and result["sizes"] == [2**16, 50001]
    assert [*result["summary"]] == ["65536", "50001"]
    assert sum(one["calls"] for one in result["summary"].values()) == len(result["records"])
    names = [v.name for v in gm.variants("copy", instances=True) if v.source.endswith(".cu")]
    assert list(dict.fromkeys(record["variant"] for record in result["records"])) == names
    for i, record in enumerate(result["records"]):
        assert record["hardware"]["load_requests"] == i
        assert set(record["hardware"]) <= set(record["simulator"])
        assert set(record["agrees"]) <= set(record["hardware"])
    *_, first, second = said.splitlines()
    assert first.startswith("65536 bytes, ") and second.startswith("50001 bytes, ")
    assert "differ" in first and "differ" in second

    alone = tmp_path / "alone.json"
    subprocess.run([*command, str(alone), "--csv-only"], env=environment, check=True)
    assert not alone.exists() and reader.read_csv(Path(f"{alone}.csv").read_text())

    fewer = tmp_path / "fewer.json"
    run(str(fewer), "--from-csv", f"{output}.csv", "--leave-out", "copy-vec4, .*")
    left = [r for r in result["records"] if r["variant"] != "vec4"]
    assert 0 < len(left) < len(result["records"])
    assert json.loads(fewer.read_text())["records"] == left

    again = tmp_path / "again.json"
    assert run(str(again), "--from-csv", f"{output}.csv").splitlines()[1:] == said.splitlines()[1:]
    assert json.loads(again.read_text()) == result


# ---- what devices said --------------------------------------------------------------------


@pytest.fixture(scope="module", params=RESULTS, ids=lambda path: path.stem)
def result(request):
    return json.loads(request.param.read_text(encoding="utf-8"))


def test_every_kernel_has_a_record(result):
    seen = {(r["family"], r["variant"]) for r in result["records"]}  # perhaps former names
    known = {(family, tool.find(family, name).name) for family, name in seen}
    families = {family for family, _ in seen}
    younger = {(family, name) for family, name in NOT_IN_IT if family in families}
    assert {(v.family, v.name) for v in tool.checked(families)} - known == younger


def test_every_family_has_calls():
    """static_value reads a single word."""
    assert {*tool.FAMILIES} | {"static_value"} == {*gm.families()}


def test_every_difference_has_a_reason(result):
    for record in result["records"]:
        assert record["simulator"] or record["why"]["simulator"]
        assert record["hardware"] or record["why"]["hardware"]
        assert not tool.unexplained(record), (record["family"], record["variant"], record["case"])
        assert all(record["why"][name] for name, same in record["agrees"].items() if same is None)


COUNT = """
import json, os, runpy, sys
sys.path.insert(0, os.path.dirname(sys.argv[1]))
tool = runpy.run_path(sys.argv[1])
for family, variant, nbytes, case in json.load(sys.stdin):
    row = tool["find"](family, variant)
    (call,) = [c for c in tool["calls"](row, nbytes) if c.case == case]
    report = tool["simulate"](row, call)
    print(json.dumps([tool["simulator_figures"](report)[0], report.grid]))
"""


def count(result, records):
    """What the simulator counts today, of a device with as many multiprocessors."""
    multiprocessors = result["provenance"]["device"]["multiprocessors"]
    done = subprocess.run(
        [sys.executable, "-c", COUNT, str(ROOT / "tools" / "crosscheck_ncu.py")],
        input=json.dumps([[r[k] for k in ("family", "variant", "bytes", "case")] for r in records]),
        env=os.environ | {tool.MULTIPROCESSORS: str(multiprocessors), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_simulator_counts_the_same_today(result):
    records = {}
    for record in result["records"]:
        if record["simulator"] is not None:
            records.setdefault((record["family"], record["variant"]), []).append(record)
    # Of each variant one case, and each case and size in its turn.
    chosen = [cases[i % len(cases)] for i, cases in enumerate(records.values())]
    for record, (figures, grid) in zip(chosen, count(result, chosen), strict=True):
        call = (record["family"], record["variant"], record["bytes"], record["case"])
        told = record["simulator"]
        assert {name: figures[name] for name in told} == told, call
        # Older records know no atomic operations: the families have none.
        assert not any(value for name, value in figures.items() if name not in told), call
        assert grid == record["grid"], call
        if record["variant"] != "cluster":  # one block there, as many as the device gives here
            assert grid == record.get("hardware_grid", grid), call


def test_there_are_several_sizes_and_a_summary_of_each(result):
    assert len(result["sizes"]) >= 2 and any(size % 2 for size in result["sizes"])
    told = {int(size): numbers for size, numbers in result["summary"].items()}
    assert told == tool.by_size(result["records"]) and [*told] == result["sizes"]
    assert all(numbers["unexplained"] == 0 for numbers in told.values())


def reason(figure, ours, theirs, call="transpose-made_up, ragged"):
    verdict = tool.judge(call, figures(**ours), figures(**theirs), [])
    assert verdict["agrees"][figure] is False
    return verdict["why"].get(figure, "")


def test_lanes_that_met_otherwise_explain_as_much_as_they_may_have():
    """No more requests and sectors than accesses that are in doubt."""
    theirs = {"store_requests": 14, "store_sectors": 44}
    for doubt, explained in [(4, True), (3, False), (0, False)]:
        ours = {"store_requests": 10, "store_sectors": 40, "store_uncertain": doubt}
        assert ("different paths" in reason("store_requests", ours, theirs)) == explained
        assert ("different paths" in reason("store_sectors", ours, theirs)) == explained


def test_accesses_that_are_certain_are_no_reason():
    """Where requests and passes agree, but not the conflicts."""
    same = {"shared_load_requests": 10, "shared_load_passes_per_request": 4.0}
    assert not reason("shared_load_conflicts", same, same | {"shared_load_conflicts": 20})


def test_operations_on_one_address_explain_a_sector_for_each_lane():
    for sectors, explained in [(64, True), (65, False), (1, False)]:
        ours = {"atomic_requests": 2, "atomic_sectors": 2, "atomic_lanes": 64}
        theirs = {"atomic_requests": 2, "atomic_sectors": sectors}
        assert bool(reason("atomic_sectors", ours, theirs)) == explained


def test_vectors_stored_as_four_numbers_explain_no_other_sectors():
    ours = {"store_requests": 32, "store_sectors": 512}
    for requests, sectors, explained in [(128, 2048, True), (80, 1280, True), (160, 2560, False)]:
        theirs = {"store_requests": requests, "store_sectors": sectors}
        assert bool(reason("store_requests", ours, theirs, "sgemm-vec4, plain")) == explained
    theirs = {"store_requests": 128, "store_sectors": 2000}
    assert not reason("store_sectors", ours, theirs, "sgemm-vec4, plain")
    theirs = {"store_requests": 128, "store_sectors": 2048}
    assert not reason("store_sectors", ours, theirs, "stream-vec4, plain")


def rows_in_the_middle(variant, m, n, k):
    """Count runs of 128 bytes that are copied by vectors to places 16 bytes past a piece of 32.

    Rows in shared memory are 16 bytes longer than a multiple of 32: every second one begins so.
    """
    if variant.startswith("narrow"):
        return (m * k // 32 + -(-m // 128) * k) // 2  # the matrix; the vectors, for each tile
    height, width = map(int, variant.removeprefix("tiles:").lstrip("pw").split("x"))
    return m // height * (n // width) * k * (width // 32) // 2


def test_the_counter_reads_pieces_of_shared_memory():
    """Which the rule says only roughly."""
    result = json.loads((ROOT / "docs/crosscheck-matmul-h200.json").read_text(encoding="utf-8"))
    checked = 0
    for record in result["records"]:
        if record["case"] == "plain" and record["variant"].startswith(("tiles:", "narrow:")):
            (m, k), (_, n) = (json.loads(a.split(maxsplit=1)[1]) for a in record["arrays"])
            more = record["hardware"]["load_sectors"] - record["simulator"]["load_sectors"]
            assert more == rows_in_the_middle(record["variant"], m, n, k), record["variant"]
            checked += 1
    assert checked == 27


def test_what_the_compiler_drops_of_narrow_explains_no_more():
    ours = {"shared_load_requests": 60, "shared_load_passes_per_request": 3.0}
    for requests, passes, explained in [(70, 1.2, True), (72, 1.2, False), (61, 1.1, False)]:
        theirs = {"shared_load_requests": requests, "shared_load_passes_per_request": passes}
        why = reason("shared_load_requests", ours, theirs, "matmul-narrow:8, plain")
        assert ("compiler drops" in why) == explained
    ours = {"store_requests": 16, "store_sectors": 256}
    for requests, sectors, explained in [(48, 256, True), (49, 256, False), (48, 255, False)]:
        theirs = {"store_requests": requests, "store_sectors": sectors}
        why = reason("store_requests", ours, theirs, "matmul-narrow:24, plain")
        assert bool(why) == explained


def test_masked_instructions_explain_no_other_passes():
    ours = {"shared_store_requests": 10, "shared_store_passes_per_request": 4.0}
    for requests, passes, explained in [(16, 2.5, True), (16, 2.7, False), (8, 5.0, False)]:
        theirs = {
            "shared_store_requests": requests,
            "shared_store_passes_per_request": passes,
        }
        why = reason("shared_store_requests", ours, theirs)
        assert ("without active lanes" in why) == explained


def test_a_tail_of_its_own_is_a_single_byte():
    call = "copy-bulk, ragged"
    ours = {"load_requests": 1, "load_sectors": 1}
    for count, explained in [(2, True), (3, False)]:
        theirs = {"load_requests": count, "load_sectors": count}
        assert bool(reason("load_requests", ours, theirs, call)) == explained
        assert not reason("load_requests", ours, theirs, "copy-vec4, ragged")


def test_a_table_of_a_result(monkeypatch, tmp_path):
    report = sys.modules["crosscheck_report"]
    monkeypatch.setattr(report, "DOCUMENTS", tmp_path)
    assert report.table("crosscheck-none") == ""
    agrees = [{"a": True, "b": False}, {"a": None}]
    records = [{"family": "scan", "agrees": one, "why": {}} for one in agrees]
    provenance = {"device": {"name": "a device"}, "date": "2026-01-01", "commit": "0123456789ab"}
    result = {"provenance": provenance, "sizes": [4096, 1003], "records": records}
    (tmp_path / "crosscheck-one.json").write_text(json.dumps(result))
    *_, row, _, line = report.table("crosscheck-one").splitlines()
    assert row == "| `scan` | 2 | 1 | 1 | 1 |"
    assert line.endswith("a device, 2026-01-01, commit 0123456789; 4,096, 1,003 bytes.")
