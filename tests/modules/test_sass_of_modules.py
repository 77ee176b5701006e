"""The machine code of users' kernels."""

from __future__ import annotations

import pytest

import gpumem as gm
from gpumem import cli
from gpumem.count import sass as sass_module
from gpumem.cuda_c import compile_device
from gpumem.cuda_c.compile_device import why_no_compiler

SOURCE = """
namespace scaling {
template <typename T> __global__ void scale(const T *x, T *y)
{
    y[threadIdx.x] = 2 * x[threadIdx.x];
}
}
__global__ void set(float *x) { x[threadIdx.x] = 1; }
"""
needs_a_compiler = pytest.mark.skipif(why_no_compiler() is not None, reason=str(why_no_compiler()))


@pytest.fixture
def module():
    return gm.load(source=SOURCE, name="mine.cu", backend="sim")


@pytest.fixture
def disassembled(monkeypatch):
    """A disassembler that finds one load and one store in any kernel; the symbols it was asked."""
    asked = []

    def disassemble(symbol, file):
        asked.append(symbol)
        assert file.read_bytes().startswith(b"\x7fELF")
        lines = ["\tcode for sm_90a", f"\t\tFunction : {symbol}"]
        lines += ["  /*0010*/  LDG.E.64 R2, [R2] ;", "  /*0020*/  STG.E.64 [R4], R2 ;"]
        return "\n".join(lines)

    monkeypatch.setattr(sass_module, "disassemble", disassemble)
    return asked


@needs_a_compiler
def test_machine_code_of_kernels_and_of_instances(module, disassembled):
    found = gm.sass(module["scale<double>"], arch="sm_90a")
    assert found.counts() == {"LDG.E.64": 1, "STG.E.64": 1} and found.archs == ("90a",)
    assert (found.family, found.variant) == ("mine.cu", "scaling::scale<double>")
    assert str(found).startswith("scaling::scale<double> of mine.cu: memory instructions")
    gm.sass(module["set"], arch="90a")
    first, second = disassembled
    assert "scale" in first and first.startswith("_ZN7scaling") and second == "_Z3setPf"


@needs_a_compiler
def test_command(tmp_path, monkeypatch, disassembled, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.cu").write_text(SOURCE)
    assert cli.main(["sass", "mine.cu", "set", "--arch", "90a"]) == 0
    assert "LDG.E.64" in capsys.readouterr().out
    assert cli.main(["sass", "mine.cu", "nothing"]) == 2
    assert "mine.cu has no kernel 'nothing'" in capsys.readouterr().err


def test_without_a_compiler(module, monkeypatch):
    monkeypatch.setattr(compile_device, "why_no_compiler", lambda: "no compiler was found")
    with pytest.raises(gm.UnavailableError, match="no compiler was found"):
        gm.sass(module["set"])


def test_wrong_arguments(module, monkeypatch):
    monkeypatch.setattr(compile_device, "why_no_compiler", lambda: None)
    with pytest.raises(ValueError, match="arch must be a name such as '90a', not 'hopper'"):
        gm.sass(module["set"], arch="hopper")
    with pytest.raises(TypeError, match="takes no variant"):
        gm.sass(module["set"], "set")
    with pytest.raises(TypeError, match="of a family needs a variant"):
        gm.sass("copy")


@pytest.mark.parametrize(
    ("words", "says"),
    [(("copy",), "needs a VARIANT"), (("copy", "vec4", "-D", "A"), "-D makes no sense here")],
)
def test_wrong_usage(words, says, capsys):
    assert cli.main(["sass", *words]) == 2
    assert says in capsys.readouterr().err
