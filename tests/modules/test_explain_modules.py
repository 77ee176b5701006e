"""Users' kernels in words."""

from __future__ import annotations

import json

import numpy as np
import pytest

import gpumem as gm
from gpumem import cli

SOURCE = """
__global__ void scale(float *x, int stride)
{
    x[threadIdx.x * stride] *= 2;
}

__global__ void column(float *x)
{
    __shared__ float tile[32 * 32];
    tile[threadIdx.x * 32] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[threadIdx.x * 32];
}

__global__ void next_one(const float *x, float *y)
{
    y[threadIdx.x] = x[threadIdx.x + 1];
}

__global__ void first_for_all(const float *x, float *y)
{
    y[threadIdx.x] = x[0];
}

__global__ void count(int *n, int *bins)
{
    __shared__ int here[32];
    here[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&here[threadIdx.x / 8], 1);
    __syncthreads();
    atomicAdd(n, here[threadIdx.x]);
    atomicAdd(&bins[threadIdx.x], 1);
}

__global__ void nothing() {}
"""


@pytest.fixture(scope="module")
def module():
    return gm.load(source=SOURCE, name="mine.cu", backend="sim")


def words(found):
    return " ".join(str(found).split())


def test_coalesced(module):
    found = gm.explain(module["scale"][1, 32], np.ones(32, "f4"), 1)
    assert words(found).startswith(
        "scale of mine.cu simulated grid 1 x 1 x 1, block 32 x 1 x 1 loads 32 bits, 4 sectors per"
    )
    assert (
        "A warp's load or store of 32 bits per thread touches 4 sectors of 32 bytes and uses every"
        in words(found)
    )
    assert "The line to look at" not in words(found)
    assert words(found).endswith(
        "Counted on the simulator, which knows no times, cache hits or occupancy."
    )


def test_names_the_line_that_wastes_most(module):
    text = words(gm.explain(module["scale"][1, 32], np.ones(512, "f4"), 16))
    assert "touches 32 sectors of 32 bytes where 4 would do: 12.5 % of the bytes" in text
    assert "The line to look at is mine.cu:4: its loads and stores move 87.5 % of all" in text
    assert "let neighbouring threads access neighbouring addresses" in text


def test_names_the_line_with_bank_conflicts(module):
    text = words(gm.explain(module["column"][1, 32], np.ones(32, "f4")))
    assert "passes 1 barrier per block and has bank conflicts: 32 passes" in text
    assert "Bank conflicts cost most at mine.cu:10: 32 passes instead of 1." in text


def test_neighbours_that_begin_inside_a_sector(module):
    text = words(gm.explain(module["next_one"][1, 32], np.ones(33, "f4"), np.ones(32, "f4")))
    assert "The line to look at is mine.cu:17: its loads move 11.1 % of all bytes" in text
    assert "do not begin at a multiple of 32 bytes. What usually helps: pad the rows" in text
    assert "neighbouring threads" not in text


def test_a_broadcast_is_no_waste(module):
    """It touches one sector, which cannot be fewer, though it uses 4 bytes of it."""
    text = words(gm.explain(module["first_for_all"][1, 32], np.ones(1, "f4"), np.ones(32, "f4")))
    assert "touches 1 sector of 32 bytes, the fewest possible" in text
    assert "The line to look at" not in text


def test_names_the_line_where_atomic_operations_meet(module):
    found = gm.explain(module["count"][1, 32], np.zeros(1, "i4"), np.zeros(32, "i4"))
    assert "At mine.cu:32, 32 lanes of a warp update the same address on average" in words(found)
    assert "What usually helps: combine the values of a warp or of a block first" in words(found)
    assert "atomics 32 bits, 2.5 sectors per request" in words(found)
    assert "The line to look at" not in words(found)


def test_a_kernel_without_memory(module):
    text = words(gm.explain(module["nothing"][1, 32]))
    assert "It touches no memory that the simulator counts." in text


def test_json_and_markdown(module):
    found = gm.explain(module["scale"][1, 32], np.ones(32, "f4"), 1)
    said = json.loads(json.dumps(found.to_dict()))
    assert said["kernel"] == "scale of mine.cu" and said["traffic"]["variant"] == "scale"
    assert "| loads | 32 bits, 4 sectors per request" in found._repr_markdown_()
    assert repr(found) == "<gpumem explanation of scale of mine.cu>"


def test_wrong_arguments(module):
    with pytest.raises(TypeError, match="scale takes 2 arguments"):
        gm.explain(module["scale"][1, 32])
    with pytest.raises(TypeError, match="live"):
        gm.explain(module["scale"][1, 32], np.ones(32, "f4"), 1, live=True)


def test_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.cu").write_text(SOURCE)
    given = ["--grid", "1", "--block", "32", "--arg", "float32[32]", "--arg", "1"]
    assert cli.main(["explain", "mine.cu", "scale", *given]) == 0
    assert capsys.readouterr().out.startswith("scale of mine.cu\n")
    assert cli.main(["explain", "mine.cu", "scale", *given, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kernel"] == "scale of mine.cu"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("copy",), "explain: needs a VARIANT of the family"),
        (("copy", "vec4", "--grid", "1"), "--grid makes no sense here: copy is a family"),
        (("mine.cu", "scale", "--live"), "--live makes no sense here: mine.cu is a file"),
    ],
)
def test_wrong_usage(given, says, capsys):
    assert cli.main(["explain", *given]) == 2
    assert says in capsys.readouterr().err
