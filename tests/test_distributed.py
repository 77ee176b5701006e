"""Arrays shared out over ranks: the plans here, and the engines in processes of their own.

The processes need mpiexec and mpi4py (the packages mpi4py and mpich do), or PyTorch.
"""

import itertools
import os
import re
import shutil
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from processes import HANGS, python

import gpumem as gm
import gpumem.distributed as gmd
from gpumem.base.record import NO_TIMES
from gpumem.cli import bench_distributed
from gpumem.cli.program import main
from gpumem.distributed import engines, sharing, timing
from gpumem.distributed.plan import Plan
from gpumem.distributed.processes import Processes
from gpumem.distributed.products import filled
from gpumem.machine.device import open_device

PROGRAM = Path(__file__).parent / "distributed" / "program.py"
PRINT_WHO = (
    "import sys; from gpumem.distributed.processes import Processes; "
    "print(Processes().who.hex(), flush=True); sys.stdin.read()"
)
MPIEXEC = shutil.which(
    "mpiexec", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
)


# ---- plans ------------------------------------------------------------------------------------


def boxes_of(shape, ranks):
    """Return several ways to share out a shape, with empty and uneven parts."""
    uneven = [0] * ranks
    uneven[-1] = shape[-1]
    ways = [gmd.Split(axis) for axis in range(len(shape))]
    ways += [gmd.Split(-1, uneven), gmd.OnRank(ranks - 1), gmd.Whole()]
    if len(shape) > 1:
        ways += [gmd.Blocks(ranks, 1), gmd.Blocks(1, ranks)]
    return ways


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("shape", [(5,), (7, 11), (4, 1, 6), (0, 3)], ids=str)
def test_every_element_goes_where_it_belongs_once(shape, ranks):
    a = np.arange(np.prod(shape)).reshape(shape)
    for axes in itertools.permutations(range(len(shape))):
        b = a.transpose(axes)
        for source, target in itertools.product(boxes_of(shape, ranks), boxes_of(b.shape, ranks)):
            froms, tos = source.boxes(shape, ranks), target.boxes(b.shape, ranks)
            whole = isinstance(source, gmd.Whole)
            for piece_bytes in (8, 40, 2**20):
                plan = Plan(froms, axes, tos, 8, piece_bytes, whole)
                parts = [np.full(sharing.lengths(box), -1) for box in tos]
                for piece, i, j in itertools.product(
                    range(plan.pieces), range(ranks), range(ranks)
                ):
                    part = plan.part(i, j, piece)
                    if part:
                        local = a[tuple(slice(*one) for one in froms[i])]
                        assert (parts[j][part.target] == -1).all()
                        parts[j][part.target] = local[part.source].transpose(axes)
                        assert part.shape == parts[j][part.target].shape
                for part, box in zip(parts, tos, strict=True):
                    assert (part == b[tuple(slice(*one) for one in box)]).all()


def test_rows_that_stay_rows_move_in_one_piece():
    froms, tos = gmd.OnRank(0).boxes((9, 4), 2), gmd.Split(0).boxes((9, 4), 2)
    assert Plan(froms, (0, 1), tos, 4, 1).pieces == 1
    assert Plan(froms, (1, 0), gmd.Split(0).boxes((4, 9), 2), 4, 48).pieces == 3


@pytest.mark.parametrize(
    ("way", "message"),
    [
        (gmd.Split(2), "axis is 2"),
        (gmd.Split(-3), "axis is -3"),
        (gmd.Split(0, [1, 2]), "expected 3 numbers that add up to 4"),
        (gmd.Split(0, [5, -1, 0]), "expected 3 numbers that add up to 4"),
        (gmd.Blocks(2, 2), "2 x 2 blocks does not fit 3 ranks"),
        (gmd.Blocks(-1, -3), "does not fit 3 ranks"),
        (gmd.OnRank(3), "no rank 3 among 3 ranks"),
    ],
)
def test_sharings_that_do_not_fit(way, message):
    with pytest.raises(ValueError, match=message):
        way.boxes((4, 6), 3)


def test_blocks_of_a_vector():
    with pytest.raises(ValueError, match="two axes or more"):
        gmd.Blocks(1, 1).boxes((4,), 1)


# ---- measuring --------------------------------------------------------------------------------


def test_times_become_a_result(monkeypatch, tmp_path):
    monkeypatch.setattr(timing, "open_device", lambda _: open_device("sim"))
    found = [
        timing.Timed(
            "transpose, into peers", "into_peers", 4096, 4096, "float32", 2**24, 0.3, 0.25
        ),
        timing.Timed(
            "nccl all-to-all alone", "all_to_all", 4096, 4096, "float32", 2**24, 0.12, 0.1
        ),
    ]
    engine = SimpleNamespace(ranks=2, name="nccl")
    result = timing.result_of(found, engine, "cuda", 15)
    result.to_json(tmp_path / "d.json")
    one, other = gm.BenchResult.from_json(tmp_path / "d.json").records
    assert one["family"] == "distributed" and one["parameters"] == {"ranks": 2, "engine": "nccl"}
    assert (one["median_ms"], one["min_ms"], one["samples"]) == (0.3, 0.25, 15)
    assert one["gbps"] == pytest.approx(2**24 / 0.3e6, rel=1e-3)
    assert other["variant"] == "all_to_all" and other["shape"] == [4096, 4096]
    assert "into_peers" in str(result) and "all_to_all" in str(result)


def test_bench_distributed_writes_a_file(tmp_path):
    command = ["-m", "gpumem", "bench", "distributed", "--sizes", "4K,8K"]
    done = launch("mpi", 2, *command, "--json", tmp_path / "d.json")
    assert done.returncode == 0, done.stdout + done.stderr
    result = gm.BenchResult.from_json(tmp_path / "d.json")
    names = ["packed", "all_to_all", "matmul", "matmul_of_one"]
    assert [one["variant"] for one in result.records] == names * 2
    assert {one["reason"] for one in result.records} == {NO_TIMES}
    sent = [1024, 1024, 2048, 0], [2116, 2116, 4232, 0]
    assert [one["bytes"] for one in result.records] == [*sent[0], *sent[1]]
    assert "No times" in done.stdout
    done = launch("mpi", 2, *command, "--json", tmp_path / "none" / "d.json")
    assert done.returncode != 0 and "there is no folder" in done.stderr


def test_bench_distributed_of_some_variants(capsys):
    assert main(["bench", "distributed", "--sizes", "4K", "--variants", "turned"]) == 2
    expected = "there is no 'turned', expected into_peers, packed, all_to_all, torch, matmul"
    assert expected in capsys.readouterr().err
    command = ["-m", "gpumem", "bench", "distributed", "--sizes", "4K", "--variants", "matmul"]
    done = launch("mpi", 2, *command)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "matmul" in done.stdout and "all-to-all" not in done.stdout


def test_bench_distributed_of_calls_in_a_row(tmp_path):
    command = ["-m", "gpumem", "bench", "distributed", "--sizes", "4K", "--order", "both"]
    file = tmp_path / "d.json"
    done = launch("mpi", 2, *command, "--variants", "packed,all_to_all", "-o", file)
    assert done.returncode == 0, done.stdout + done.stderr
    found = [(one["variant"], one["order"]) for one in gm.BenchResult.from_json(file).records]
    assert found == list(itertools.product(("packed", "all_to_all"), ("single", "stream")))
    assert done.stdout.count("32 x 32 float32, in a row") == 2


@pytest.mark.parametrize("order", ["single", "stream"])
def test_times_are_of_one_call(order, monkeypatch):
    """A call takes a second of a clock that stands still otherwise."""
    clock, calls = [0.0], []
    monkeypatch.setattr(timing.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(timing, "_slowest", lambda _, seconds: seconds)
    monkeypatch.setattr(timing, "synchronize", lambda _: calls.append("|"))

    def call():
        clock[0] += 0.03
        calls.append("c")

    engine = SimpleNamespace(barrier=lambda: None)
    found = timing._samples(engine, "cuda", call, 2, order)
    assert found == pytest.approx([30.0, 30.0])
    row = "ccc|" if order == "stream" else "c|"
    assert "".join(calls) == "c|" + row * (timing.WARM_UP + 1)


def test_how_much_faster_all_ranks_multiply():
    times = {"matmul": 2.0, "matmul_of_one": 7.5, "packed": 1.0}
    found = [timing.Timed(one, one, 64, 64, "float32", 0, ms, ms) for one, ms in times.items()]
    (line,) = bench_distributed._speed_ups(found)
    assert line == "64 x 64: matmul is 3.75 times as fast as on one rank."
    assert bench_distributed._speed_ups(found[:1]) == []


# ---- importing --------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [0, 1, 127, 4096, 8192, 10923, 16384, 100_000])
def test_tiles_of_a_piece_fill_the_multiprocessors(rows):
    def used(columns):
        tiles = -(-rows // 128) * (columns // 128)
        return tiles / (-(-tiles // 132) * 132) if tiles else 1

    for columns in (512, 2048, 8192):
        found = filled(columns, rows, 132)
        assert found % 128 == 0 and columns <= found <= 2.5 * columns
        assert used(found) >= used(columns)
        if rows * columns >= 8192 * 2048:
            assert used(found) > 0.98
    assert filled(512, rows, 0) == 512  # on the host


def test_gpumem_does_not_import_it():
    modules = "[m for m in sys.modules if m.startswith(('gpumem.distributed', 'mpi4py', 'torch'))]"
    assert python(f"import sys, gpumem; print({modules})") == "[]\n"
    wanted = "[m for m in sys.modules if m.partition('.')[0] in ('mpi4py', 'torch')]"
    assert python(f"import sys, gpumem.distributed; print({wanted})") == "[]\n"


def test_without_an_engine(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(ImportError, match=r"needs mpi4py with an MPI library, or PyTorch with"):
        engines.find_engine()


def test_what_is_no_communicator():
    with pytest.raises(TypeError, match="comm must be a communicator of mpi4py"):
        gmd.scatter(np.zeros(3), "world")


# ---- ranks ------------------------------------------------------------------------------------


def start(name, ranks, *arguments):
    """Run the program on so many ranks; return the finished process."""
    return launch(name, ranks, PROGRAM, name, *arguments)


def launch(name, ranks, *words):
    """Run Python with these words on so many ranks; return the finished process."""
    if name == "mpi":
        if find_spec("mpi4py") is None or MPIEXEC is None:
            pytest.skip("mpi4py and mpiexec are not both installed (pip install mpi4py mpich)")
        command = [MPIEXEC, "-n", str(ranks), sys.executable]
    else:
        if find_spec("torch") is None:
            pytest.skip("PyTorch is not installed")
        launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        command = [*launcher, f"--nproc-per-node={ranks}"]
    return subprocess.run(
        [*command, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=5 * HANGS,
        env=environment_of(name),
    )


def environment_of(name):
    """Return the variables that ranks need."""
    return os.environ | {
        "GPUMEM_BACKEND": "cuda" if name == "nccl" else "sim",
        "PYTHONPATH": os.pathsep.join(
            filter(None, (str(PROGRAM.parents[2]), os.environ.get("PYTHONPATH")))
        ),
        "OMP_NUM_THREADS": "1",
        # Open MPI starts more ranks than there are cores, and as root, only if told to.
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }


def check(name, ranks, *arguments):
    done = start(name, ranks, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    for rank in range(ranks):
        assert f"rank {rank} of {ranks} is done" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("scenario", ["moves", "around", "refusals", "products", "ways"])
def test_mpi(scenario, ranks):
    check("mpi", ranks, scenario, ranks)


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize(
    "scenario", ["moves", "around", "refusals", "products", "ways", "dtensors"]
)
def test_gloo(scenario, ranks):
    check("gloo", ranks, scenario, ranks)


def test_a_rank_of_mpi_is_killed():
    """MPI ends all ranks."""
    done = start("mpi", 3, "killed")
    assert done.returncode != 0
    assert "is done" not in done.stdout


def ranks_of_gloo(scenario, ranks):
    """Start ranks that no launcher looks after; return the processes."""
    if find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(ranks)}
    return [
        subprocess.Popen(
            [sys.executable, str(PROGRAM), "gloo", scenario],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment_of("gloo") | where | {"RANK": str(rank)},
        )
        for rank in range(ranks)
    ]


@pytest.mark.parametrize("scenario", ["killed", "silent"])
def test_a_rank_of_gloo_is_lost(scenario):
    """The others end with an error within the engine's timeout, which names the rank."""
    processes = ranks_of_gloo(scenario, 3)
    try:
        told = [one.communicate(timeout=5 * HANGS)[0] for one in processes[:2]]
    finally:
        for one in processes:
            one.kill()
    assert [one.returncode for one in processes[:2]] == [3, 3], told
    for rank, text in enumerate(told):
        # The survivor that learns it later may see that the other one has ended, too.
        words = {
            "killed": r"(\d|None): ranks? (\d and )?2 ended: on rank",
            "silent": f"2: on rank {rank}, no message of rank 2 within",
        }
        assert re.search(f"rank {rank} was told of {words[scenario]}", text), text
    if scenario == "killed":
        assert any("was told of 2" in text for text in told), told


def test_a_process_that_has_ended_is_named():
    ranks = [Processes() for _ in range(3)]
    other = subprocess.Popen(
        [sys.executable, "-c", PRINT_WHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        told = [ranks[0].who, bytes.fromhex(other.stdout.readline()), bytes(len(ranks[0].who))]
        ranks[0].learn(told)
        assert ranks[0].ended() == []
        error = ranks[0].error(0, "the all-to-all", OSError("closed"))
        assert (str(error), error.rank) == ("on rank 0, the all-to-all failed: closed", None)
    finally:
        other.kill()
    error = ranks[0].error(0, "the all-to-all", OSError("closed"))  # not waited for: a zombie
    assert (str(error), error.rank) == ("rank 1 ended: on rank 0, the all-to-all failed: closed", 1)
    other.communicate()
    assert ranks[0].ended() == [1]
    ranks[0].learn([ranks[0].who] * 3)  # what was learnt first stays
    assert ranks[0].ended() == [1]
    ranks[1].learn(told)  # it was not there to be seen
    assert ranks[1].ended() == []


@pytest.mark.gpu
@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize(
    "scenario",
    ["direct", "unmarked", "packed", "around", "refusals", "products", "ways", "dtensors"],
)
def test_nccl(scenario, ranks):
    """GPUs of one host, which write to each other's memory or exchange what is packed."""
    devices = len(gm.info()["backends"]["cuda"]["devices"])
    if devices < ranks:
        pytest.skip(f"there are {devices} GPUs, not {ranks}")
    check("nccl", ranks, scenario, 7)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(100, 120))
def test_mpi_with_many_seeds(seed):
    check("mpi", 1 + seed % 4, "moves+ways", seed)


@pytest.mark.skipif(not (MPIEXEC and find_spec("mpi4py")), reason="mpiexec and mpi4py are not here")
def test_the_program_of_the_documentation(tmp_path):
    page = PROGRAM.parents[2] / "docs" / "several-gpus.md"
    (program,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    file = tmp_path / "turn.py"
    file.write_text(program)
    done = subprocess.run(
        [MPIEXEC, "-n", "2", sys.executable, str(file)],
        env={**os.environ, "GPUMEM_BACKEND": "sim"},
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("<Shared (400, 600) of float32, rank ") == 2
    (error,) = re.findall(r"largest error: (\S+)", done.stdout)
    assert float(error) < 1e-3
