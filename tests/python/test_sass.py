"""gm.sass: parsing a disassembly, and the machine code of kernels built with nvcc."""

import json
import os
import re
import textwrap

import pytest

import gpumem as gm
from gpumem import _core, cli
from gpumem.machine import libraries

TEXT = """
Fatbin elf code:
================
arch = sm_80
code version = [1,7]
host = linux
compile_size = 64bit

\tcode for sm_80
\t\tFunction : copy_vec4
\t.headerflags\t@"EF_CUDA_TEXMODE_UNIFIED EF_CUDA_64BIT_ADDRESS EF_CUDA_SM80"
        /*0000*/                   MOV R1, c[0x0][0x28] ;  /* 0x00000a0000017a02 */
                         /* 0x000fe40000000f00 */
        /*0050*/                   LDG.E.128 R4, [R2.64] ;  /* 0x0000000402047981 */
        /*0060*/               @P0 EXIT ;  /* 0x000000000000094d */
        /*0070*/              @!P0 STG.E.128 [R8.64], R4 ;  /* 0x0000000408007986 */
        /*0080*/                   BRA 0x80;  /* 0xfffffff000007947 */
\t\t..........


Fatbin elf code:
================
arch = sm_90a

\tcode for sm_90a

Fatbin elf code:
================
arch = sm_90a

\tcode for sm_90a
\t.target\tsm_90a

\t\tFunction : copy_vec4
        /*0000*/                   LDC R1, c[0x0][0x28] ;  /* 0x00000a00ff017b82 */
        /*00a0*/             @!UP0 UBLKCP.S.G [UR4], [UR6], UR8 ;  /* 0x00000004060083ba */
        /*00a8*/             @!PT  LDS RZ, [RZ] ;  /* 0x0 */
        /*00b0*/                   LDGSTS.E.BYPASS.128 [R3], desc[UR6][R2.64] ;  /* 0x0 */
        /*00c0*/                   LDG.E.128 R8, desc[UR6][R8.64] ;  /* 0x0000000608087981 */
        /*12ac0*/             @P3  LDG.E.128.CONSTANT R8, desc[UR6][R8.64] ;  /* 0x0 */
        /*12ad0*/                   {  STS.64 [R5], R6 ; }                    /* 0x0 */
        /*12ae0*/                  HGMMA.64x128x8.F32.TF32 R24, R8, gdesc[UR4] ;  /* 0x0 */
\t\tFunction : copy_vec4_unrolled
        /*0000*/                   STL [R1], R6 ;  /* 0x0 */
"""


@pytest.fixture
def tools(monkeypatch, tmp_path):
    """Fake a build with nvcc, and put disassemblers that print TEXT on the PATH."""

    def make(text=TEXT, status=0, error=""):
        (tmp_path / "text").write_text(text)
        for name in ("cuobjdump", "nvdisasm"):
            script = f"""\
                #!/bin/sh
                echo "$@" >> {tmp_path}/arguments
                cat {tmp_path}/text
                echo '{error}' >&2
                exit {status}
                """
            (tmp_path / name).write_text(textwrap.dedent(script))
            (tmp_path / name).chmod(0o755)

    make()
    monkeypatch.setattr(_core, "build", {**_core.build, "cuda": True})
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    make.arguments = tmp_path / "arguments"
    return make


def test_counts_of_each_architecture(tools):
    code = gm.sass("copy", "vec4")
    assert (code.family, code.variant, code.archs) == ("copy", "vec4", ("80", "90a"))
    assert code.counts("80") == {"LDG.E.128": 1, "STG.E.128": 1}
    newest = {"LDG.E.128": 1, "LDG.E.128.CONSTANT": 1, "STS.64": 1, "LDC": 1}
    newest |= {"LDGSTS.E.BYPASS.128": 1, "UBLKCP.S.G": 1}
    assert code.counts() == code.counts("90a") == newest
    assert list(code.counts()) == list(newest)  # sorted by kind of access
    assert tools.arguments.read_text().split()[:3] == ["-sass", "-fun", "copy_vec4"]


def test_parsed_instructions(tools):
    code = gm.sass("copy", gm.variants("copy")[2]).code["90a"]
    assert [one.address for one in code[-3:]] == [0x12AC0, 0x12AD0, 0x12AE0]
    assert code[-3].text == "@P3 LDG.E.128.CONSTANT R8, desc[UR6][R8.64]"
    assert code[-3].memory == "global load" and code[-2].memory == "shared store"
    assert code[-1].opcode == "HGMMA.64x128x8.F32.TF32" and code[-1].memory is None
    assert code[1].text.startswith("@!UP0 UBLKCP.S.G") and code[1].memory == "bulk copy engine"


def test_as_text_and_as_json(tools):
    code = gm.sass("copy", "vec4")
    text = str(code)
    assert "sm_80" in text and "LDG.E.128" in text and "EXIT" not in text
    (row,) = [line.split() for line in text.splitlines() if line.startswith("LDG.E.128 ")]
    assert row == ["LDG.E.128", "global", "load", "1", "1"]
    assert "EXIT" in code.listing("80") and "sm_90a" not in code.listing("80")
    document = json.loads(json.dumps(code.to_dict()))
    assert document["archs"]["80"]["counts"]["STG.E.128"] == 1
    assert [one["opcode"] for one in document["archs"]["80"]["instructions"]] == [
        "LDG.E.128",
        "STG.E.128",
    ]
    assert len(code.to_dict(whole=True)["archs"]["80"]["instructions"]) == 5


def test_one_architecture(tools):
    for name in ("80", "sm_80"):
        assert gm.sass("copy", "vec4", name).archs == ("80",)
    with pytest.raises(ValueError, match="not built for arch '70'; it was for: 80, 90a"):
        gm.sass("copy", "vec4", "70")
    with pytest.raises(ValueError, match="arch must be a name"):
        gm.sass("copy", "vec4", 80)


@pytest.mark.parametrize(
    ("variant", "error", "words"),
    [
        ("vec3", ValueError, "vec3.*scalar"),
        ("auto", ValueError, "no variant 'auto'"),
        ("memcpy", gm.UnavailableError, "copy-memcpy has no kernel of its own"),
        ("scalar", gm.UnavailableError, "does not show copy_scalar"),
    ],
)
def test_variants_without_machine_code(tools, variant, error, words):
    tools("", 255, "cuobjdump fatal   : it is too old")
    with pytest.raises(error, match=words) as raised:
        gm.sass("copy", variant)
    assert variant != "scalar" or "too old" in str(raised.value)


def test_a_build_without_nvcc_shows_what_is_shipped(monkeypatch):
    monkeypatch.setattr(_core, "build", {**_core.build, "cuda": False})
    code = gm.sass("copy", "vec4")
    assert code.archs == ("80", "90a", "100", "120") and code.code == {}
    assert code.counts()["LDG.E.128"] > 0
    assert "shipped with gpumem, made with nvcc" in code.shipped
    assert "LDG.E.128" in str(code) and "built without CUDA" in str(code)
    assert json.loads(json.dumps(code.to_dict()))["archs"]["80"]["counts"] == code.counts("80")
    assert gm.sass("copy", "vec4", "sm_80").archs == ("80",)
    with pytest.raises(ValueError, match="nothing is shipped for arch '70'"):
        gm.sass("copy", "vec4", "70")
    with pytest.raises(gm.UnavailableError, match="only counts"):
        code.listing()


def test_without_a_disassembler_the_shipped_counts_say_which_packages(monkeypatch):
    monkeypatch.setattr(_core, "build", {**_core.build, "cuda": True})
    monkeypatch.setattr(libraries, "program", lambda name: None)
    assert re.search(
        r"cuobjdump and nvdisasm not found.*nvidia-cuda", gm.sass("copy", "vec4").shipped
    )


def test_search_order_for_programs(monkeypatch, tmp_path):
    """PATH comes first, then CUDA_HOME, then installed packages.

    The loop adds the places in the reverse order, so each new one takes precedence.
    """
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.delenv("CUDA_PATH", raising=False)
    assert libraries.program("gpumem-tool") is None
    for folder in ("triton/backends/nvidia/bin", "nvidia/cu13/bin", "home/bin", "path"):
        file = tmp_path / folder / "gpumem-tool"
        file.parent.mkdir(parents=True)
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)
        if folder == "home/bin":
            monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
        if folder == "path":
            monkeypatch.setenv("PATH", str(tmp_path / "path"))
        assert libraries.program("gpumem-tool") == str(file)


def test_the_command_line_shows_machine_code(tools, capsys):
    assert cli.main(["sass", "copy", "vec4"]) == 0
    assert "LDG.E.128" in capsys.readouterr().out
    assert cli.main(["sass", "copy", "vec4", "--arch", "80", "--all"]) == 0
    assert "EXIT" in capsys.readouterr().out
    assert cli.main(["sass", "copy", "vec4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["archs"]["90a"]["counts"]["LDC"] == 1
    for words in (["vec3"], ["vec4", "--arch", "1"], ["memcpy"], []):
        assert cli.main(["sass", "copy", *words]) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.startswith("gpumem: ")


def test_the_command_line_shows_attributes(monkeypatch, capsys):
    monkeypatch.setenv("GPUMEM_BACKEND", "sim")
    assert cli.main(["attributes", "copy", "--backend", "sim"]) == 0
    out = capsys.readouterr().out
    kernels = {str(v) for v in gm.variants("copy", instances=True) if v.source.endswith(".cu")}
    assert kernels <= set(out.split()) and "shipped with gpumem, made with nvcc" in out
    (bulk,) = (line.split() for line in out.splitlines() if line.startswith("copy-bulk "))
    row = next(one for one in gm.variants("copy") if one.name == "bulk")
    own = row.attributes("sim")["shared_bytes"]
    assert int(bulk[3]) == own + row.shared_bytes > own
    words = ["attributes", "transpose", "tile_vector", "--backend", "sim", "--arch", "80", "--json"]
    assert cli.main(words) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows[0]["variant"].startswith("tile_vector:") and {row["arch"] for row in rows} == {"80"}
    for words in (["memcpy", "--backend", "sim"], ["vec4", "--arch", "1"], ["vec3"]):
        assert cli.main(["attributes", "copy", *words]) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.startswith("gpumem: ")


# ---- builds with nvcc ---------------------------------------------------------------------


def why_no_sass():
    """Why this build cannot be disassembled, or None if it can."""
    if not _core.build["cuda"]:
        return "gpumem was built without nvcc"
    missing = [name for name in ("cuobjdump", "nvdisasm") if libraries.program(name) is None]
    return f"{' and '.join(missing)} not found" if missing else None


needs_sass = pytest.mark.skipif(why_no_sass() is not None, reason=str(why_no_sass()))


@needs_sass
@pytest.mark.parametrize(("variant", "width"), [("scalar", ""), ("vec2", ".64"), ("vec4", ".128")])
def test_access_widths_of_the_copy_variants(variant, width):
    code = gm.sass("copy", variant)
    for arch in code.archs:
        counts = code.counts(arch)
        assert {f"LDG.E{width}", f"STG.E{width}"} <= set(counts)
        wider = {name for name in counts if name[:3] in ("LDG", "STG") and ".128" in name}
        assert variant == "vec4" or not wider


@needs_sass
def test_every_kernel_has_machine_code():
    """Check two kernels of each family; disassembling all of them takes minutes."""
    for family in gm.families():
        kernels = [v for v in gm.variants(family) if v.source.endswith(".cu")]
        for row in kernels[:2]:
            code = gm.sass(family, row)
            assert code.archs and all(len(code.code[arch]) > 3 for arch in code.archs)


@needs_sass
def test_memory_spaces_of_some_kernels():
    bulk = gm.sass("copy", "bulk")
    if "90a" in bulk.archs:
        assert any(name.startswith("UBLKCP") for name in bulk.counts("90a"))
    tile = gm.sass("transpose", "tile").counts()
    assert any(name.startswith("LDS") for name in tile) and any(n.startswith("STS") for n in tile)
    prefetch = gm.sass("prefetch_sum", "smem_rolling_async").counts()
    assert any(name.startswith("LDGSTS") for name in prefetch)
