"""gm.bench of users' kernels, on a fake device whose clock each launch advances."""

from __future__ import annotations

import numpy as np
import pytest
from made_up import L2, MadeUpDevice

import gpumem as gm
from gpumem import cli
from gpumem.measure.stopwatch import PythonCall

SOURCE = """
__global__ void saxpy(const float *x, float *y, int n, float a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a * x[i] + y[i];
    }
}

__global__ void nothing() {}
"""
N = 1024
TIMES = {"saxpy": 0.004, "numpy": 0.008, "nothing": 0.002}  # milliseconds


@pytest.fixture(scope="module")
def module():
    return gm.load(source=SOURCE, name="mine.cu", backend="sim")


@pytest.fixture
def device(monkeypatch):
    """A device that knows which calls were made, with which arguments."""
    made_up = MadeUpDevice()
    made_up.calls = []
    real = PythonCall.launch

    def launch(call):
        real(call)
        made_up.calls.append((call.variant, call._args))
        made_up.now += TIMES[call.variant]

    monkeypatch.setattr(PythonCall, "launch", launch)
    return made_up


def arguments():
    return np.ones(N, "f4"), np.ones(N, "f4"), N, 2.0


def test_records(module, device):
    found = gm.bench(
        module["saxpy"][4, 256], *arguments(), bytes=12 * N, flops=2 * N, device=device
    )
    (row,) = found.rows
    assert (row.family, row.variant, row.backend) == ("mine.cu", "saxpy", "cuda")
    assert (row.shape, row.dtype, row.cache) == ((N,), "float32", "cold")
    assert row.order == "stream"
    assert row.parameters == {"grid": "4x1x1", "block": "256x1x1"}
    assert row.median_ms == pytest.approx(0.004) and row.samples >= 11
    assert row.gbps == pytest.approx(12 * N / 0.004 / 1e6)
    assert row.tflops == pytest.approx(2 * N / 0.004 / 1e9)
    assert 0 < row.fraction_of_peak < 1 and row.reason is None
    assert gm.BenchResult.from_json(found.to_json()).records == found.records


def test_host_arrays_are_copied_once_and_not_back(module, device):
    x, y, n, a = arguments()
    gm.bench(module["saxpy"][4, 256], x, y, n, a, device=device)
    np.testing.assert_array_equal(y, 1)
    sets = {(one.pointer, other.pointer) for _, (one, other, *_) in device.calls}
    assert len(sets) * 8 * N > 4 * L2 or len(sets) == 64  # in turn, so that the L2 stays cold
    gm.bench(module["saxpy"][4, 256], x, y, n, a, cache="warm", device=device)
    assert len({args[0].pointer for _, args in device.calls[-20:]}) == 1


def test_an_array_given_twice_is_one_on_the_device(module, device):
    x = np.ones(N, "f4")
    gm.bench(module["saxpy"][4, 256], x, x, N, 2.0, device=device)
    assert all(args[0] is args[1] for _, args in device.calls)


def test_beside_another_function(module, device):
    def by_numpy(x, y, n, a):
        assert isinstance(x, gm.DeviceArray) and (n, a) == (N, 2.0)

    found = gm.bench(
        module["saxpy"][4, 256],
        *arguments(),
        bytes=12 * N,
        against={"numpy": by_numpy},
        cache="both",
        device=device,
    )
    assert [(row.variant, row.cache) for row in found.rows] == [
        (name, state) for state in ("cold", "warm") for name in ("saxpy", "numpy")
    ]
    kernel, other = found.rows[:2]
    assert kernel.fraction_of_reference == pytest.approx(2) and other.fraction_of_reference == 1
    text = str(found)
    assert "mine.cu, cold L2, GB/s" in text and "saxpy" in text and "numpy" in text


def test_single_calls(module, device):
    """One call between two events, behind a hold: the kernel and what is beside it alike."""
    steps = []
    found = gm.bench(
        module["saxpy"][4, 256],
        *arguments(),
        bytes=12 * N,
        against={"numpy": lambda *_: None},
        order="both",
        device=device,
        progress=lambda *step: steps.append(step[2]),
    )
    assert [(row.variant, row.order) for row in found.rows] == [
        (name, order) for order in ("stream", "single") for name in ("saxpy", "numpy")
    ]
    assert steps == ["saxpy cold", "saxpy cold, single calls", "done"]
    times = {(row.order, row.variant): row.median_ms for row in found.rows}
    assert times["single", "saxpy"] == pytest.approx(0.004)
    assert times["single", "numpy"] == pytest.approx(0.008)
    assert found.rows[2].fraction_of_reference == pytest.approx(2)
    text = str(found)
    assert "mine.cu, cold L2, GB/s" in text and "4 KiB  stream" in text and "4 KiB  single" in text
    device.events.clear()
    device.calls.clear()
    alone = gm.bench(module["saxpy"][4, 256], *arguments(), order="single", device=device)
    assert "mine.cu, cold L2, single calls, us per launch" in str(alone)
    timed = [what for what in device.events if what[0] != "launch"]
    flush = next(i for i, what in enumerate(timed) if what[0] == "fill" and i > 8)
    assert [what[0] for what in timed[flush:]] == ["fill", "event", "event"] * (
        len(timed[flush:]) // 3
    )


def test_without_bytes_there_are_times_only(module, device):
    found = gm.bench(module["saxpy"][4, 256], *arguments(), device=device)
    (row,) = found.rows
    assert row.gbps is None and row.tflops is None and row.median_ms > 0
    assert "mine.cu, cold L2, us per launch" in str(found)


def test_a_kernel_without_arrays(module, device):
    (row,) = gm.bench(module["nothing"][1, 32], device=device).rows
    assert row.is_launch and row.median_ms == pytest.approx(0.002)


def test_the_simulator_knows_no_times(module):
    with pytest.raises(gm.UnavailableError, match=r"saxpy of mine\.cu was loaded for the sim"):
        gm.bench(module["saxpy"][4, 256], *arguments())


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"bytes": -1}, ValueError, "bytes must be at least 0"),
        ({"flops": 1.5}, TypeError, "flops must be an integer"),
        ({"against": {"torch": 3}}, TypeError, "against must map names to functions"),
        ({"against": {"saxpy": print}}, ValueError, "against must not name saxpy"),
        ({"cache": "hot"}, ValueError, "cache must be 'cold', 'warm' or 'both'"),
        ({"order": "alone"}, ValueError, "order must be 'stream', 'single' or 'both'"),
        ({"samples": (5, 1)}, ValueError, "samples must be"),
        ({"sizes": "4K"}, TypeError, "sizes"),
    ],
)
def test_wrong_arguments(module, device, given, error, says):
    with pytest.raises(error, match=says):
        gm.bench(module["saxpy"][4, 256], *arguments(), device=device, **given)


def test_too_little_memory_is_a_reason(module, device):
    device.free = 2**12
    (row,) = gm.bench(module["saxpy"][4, 256], *arguments(), device=device).rows
    assert row.median_ms is None and "of device memory" in row.reason


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("mine.cu", "saxpy", "--grid", "1"), "bench: needs --block"),
        (("mine.cu", "saxpy", "--sizes", "4K"), "--sizes makes no sense here: mine.cu is a file"),
        (("copy", "--bytes", "3"), "--bytes makes no sense here: copy has counts of its own"),
        (("copy", "--grid", "3"), "--grid makes no sense here: copy is a family"),
        (("copy", "vec4"), "vec4 after copy, which is a family; --variants names"),
        (
            ("mine.cu", "nothing", "--grid", "1", "--block", "32", "--backend", "sim"),
            "nothing of mine.cu was loaded for the simulator, which knows no times",
        ),
    ],
)
def test_wrong_usage_of_the_command(words, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.cu").write_text(SOURCE)
    assert cli.main(["bench", *words]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.gpu
def test_on_a_gpu():
    module = gm.load(source=SOURCE, name="mine.cu", backend="cuda")
    n = 1 << 22
    x, y = np.ones(n, "f4"), np.zeros(n, "f4")
    found = gm.bench(
        module["saxpy"][n // 256, 256],
        *(x, y, n, 2.0),
        bytes=12 * n,
        against={"copy": lambda x, y, n, a: gm.copy(x, out=y)},
    )
    kernel, copy = found.rows
    assert kernel.gbps > 0 and copy.gbps > 0 and kernel.fraction_of_reference > 0


def test_a_picture_has_a_bar_per_contender(module, device):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    saxpy = module["saxpy"][4, 256]
    alone = gm.bench(saxpy, *arguments(), bytes=12 * N, device=device).plot("ladder")
    assert bars(alone) == {"saxpy": pytest.approx(12 * N / 0.004 / 1e6)}
    both = gm.bench(
        saxpy, *arguments(), bytes=12 * N, against={"numpy": lambda *_: None}, device=device
    )
    beside = both.plot("ladder")
    assert bars(beside) == bars(alone)
    (words,) = (one.get_text() for one in beside.axes[0].texts if "dashed" in one.get_text())
    assert words == "dashed: numpy, 1.536"
    untimed = gm.bench(saxpy, *arguments(), device=device).plot("ladder")
    assert bars(untimed) == {"saxpy": pytest.approx(0.004)}


def bars(figure):
    """Return the bars of a picture by name; none needs a legend."""
    assert not figure.legends
    ax = figure.axes[0]
    names = [one.get_text() for one in ax.get_yticklabels()]
    return dict(zip(names, (bar.get_width() for bar in ax.patches), strict=True))
