"""The builder: the table of accesses, the toolchain's environment variables, and the cache.

These tests need no nvcc, GPU or setuptools; they build a tiny tree with the same layout.
"""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from build_cases import SOURCE, build, build_cache, script

if not SOURCE.exists():
    pytest.skip("the builder is only there in a source tree", allow_module_level=True)


toolchain = sys.modules["build_toolchain"]


tabulate_accesses = sys.modules["build_sites"].tabulate_accesses


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    """Remove the variables that affect a build."""
    for name in (
        "CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "MAKEFLAGS", "NVCC", "CUDA_HOME",
        "CUDA_PATH", "GPUMEM_CUDA", "GPUMEM_CUDA_ARCHS", "GPUMEM_JOBS",
    ):  # fmt: skip
        monkeypatch.delenv(name, raising=False)


# ---- the table of accesses ----------------------------------------------------------


def sites(assembly, root="/src"):
    """Parse the rewritten assembly; return (callee, file, line) of every record."""
    text = tabulate_accesses(textwrap.dedent(assembly), Path(root))
    labelled = re.findall(r"(__tsan_\w+)[^\n]*\n(\.Lgm_site\d+):", text)
    calls = {label: callee for callee, label in labelled}
    names = dict(re.findall(r'(\.Lgm_file\d+):\n\t\.string\t"(.*)"', text))
    records = re.findall(r"\t\.quad\t(\S+), (\S+)\n\t\.long\t(\d+), 0", text)
    return [(calls[site], names[file], int(line)) for site, file, line in records]


GCC_X86 = """\
        .file   "vec4.cu"
        .text
        .file 1 "csrc/kernels/copy/vec4.cu"
        .globl  copy_vec4
copy_vec4:
.LFB1:
        .loc 1 17 1 view -0
        .cfi_startproc
        call    __tsan_func_entry@PLT
        .loc 1 21 30 is_stmt 0 view .LVU3
        call    __tsan_read8@PLT
        .file 2 "csrc/sim/simt.h"
        .loc 2 80 9 is_stmt 1 view .LVU4
        call    __tsan_read16@PLT
        .loc 1 22 9 is_stmt 0
        .file 3 "csrc/kernels/bulk.h"
        .loc 3 39 5
        call    *__tsan_unaligned_write8@GOTPCREL(%rip)
        .file 4 "/usr/include/string.h"
        .loc 4 44 5
        call    __tsan_read_range@PLT
        call    memcpy@PLT
        call    __tsan_func_exit@PLT
        .cfi_endproc
"""


def test_gcc_x86():
    assert sites(GCC_X86) == [
        ("__tsan_read8", "csrc/kernels/copy/vec4.cu", 21),
        ("__tsan_read16", "csrc/kernels/copy/vec4.cu", 21),
        ("__tsan_unaligned_write8", "csrc/kernels/copy/vec4.cu", 22),
        ("__tsan_read_range", "csrc/kernels/copy/vec4.cu", 22),
        ("__tsan_memcpy", "csrc/kernels/copy/vec4.cu", 22),
    ]


def test_clang_aarch64_with_folders_and_line_zero():
    assembly = """\
        .file   "gather.cu"
        .file   1 "/src" "csrc/kernels/gather/gather.cu"
        .file   0 "/src" "csrc/kernels/gather/gather.cu" md5 0x00
        .file   2 "csrc/kernels/gather" "gather.h"
gather:                                 // @gather
        .loc    1 9 0                   // csrc/kernels/gather/gather.cu:9:0
        .cfi_startproc
        .loc    2 12 3 prologue_end     // csrc/kernels/gather/gather.h:12:3
        bl      __tsan_read4
        .loc    2 0 3 is_stmt 0         // csrc/kernels/gather/gather.h:0:3
        bl      __tsan_volatile_write2
        .loc    0 14 3
        bl      __tsan_atomic32_fetch_add
        bl      __tsan_init
        ble     .LBB0_1
        .cfi_endproc
    """
    assert sites(assembly) == [
        ("__tsan_read4", "csrc/kernels/gather/gather.h", 12),
        ("__tsan_volatile_write2", "csrc/kernels/gather/gather.h", 12),
        ("__tsan_atomic32_fetch_add", "csrc/kernels/gather/gather.cu", 14),
    ]


def test_calls_that_move_memory_are_accesses():
    assembly = """\
        .file 1 "csrc/kernels/copy/struct16.cu"
        .loc 1 24 9
        .cfi_startproc
        callq   memcpy@PLT
        bl      memset
        callq   memcpy_of_another_name@PLT
        .cfi_endproc
    """
    kernel = "csrc/kernels/copy/struct16.cu"
    assert sites(assembly) == [("__tsan_memcpy", kernel, 24), ("__tsan_memset", kernel, 24)]


def test_a_line_does_not_carry_over_to_the_next_function():
    assembly = (
        GCC_X86
        + """\
        .cfi_startproc
        .loc 2 99 5
        call    __tsan_read4@PLT
        .cfi_endproc
"""
    )
    assert sites(assembly)[-1] == ("__tsan_read4", "csrc/sim/simt.h", 99)


def test_comdat_functions_become_local_and_debug_information_is_removed():
    assembly = """\
        .section        .text._Z3sumv,"axG",@progbits,_Z3sumv,comdat
        .weak   _Z3sumv
        .weak   elsewhere
_Z3sumv:
        ret
        .section        .bss.last,"awG",@nobits,last,comdat
        .section        .rodata.cst,"aMG",@progbits,16,cst,comdat
        .section        .debug_info,"",@progbits
.Ldebug_info0:
        .long   7
        .section        .init_array,"aw"
        .quad   here
    """
    lines = tabulate_accesses(assembly, Path("/src")).split("\n")
    text = "\n".join(" ".join(line.split()) for line in lines)
    assert "comdat" not in text and "debug" not in text and ".long 7" not in text
    assert '.section .text._Z3sumv,"ax",@progbits\n' in text
    assert '.section .bss.last,"aw",@nobits\n' in text
    assert '.section .rodata.cst,"aM",@progbits,16\n' in text
    assert ".local _Z3sumv\n.weak elsewhere\n" in text
    assert '.section .init_array,"aw"\n.quad here\n' in text
    assert "gm_sites" not in text


# ---- the toolchain ------------------------------------------------------------------


def fake_toolkit(top, version="13.0", codes="80 90 100 120", lib="lib64"):
    for name in ("include/cuda_runtime.h", f"{lib}/libcudart_static.a"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).touch()
    codes = "".join(f"echo sm_{code}; " for code in codes.split())
    return script(
        top / "bin" / "nvcc",
        f'case "$1" in\n--version) echo "Cuda compilation tools, release {version}, V1";;\n'
        f"--list-gpu-code) {codes};;\nesac\n",
    )


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A machine without CUDA, in an empty folder."""
    monkeypatch.setattr(toolchain, "SYSTEM_CUDA", tmp_path / "usr-local-cuda")
    monkeypatch.setattr(toolchain.sys, "path", [str(tmp_path / "env")])
    monkeypatch.setattr(toolchain.sysconfig, "get_path", lambda name: str(tmp_path / name))
    monkeypatch.setattr(toolchain.site, "ENABLE_USER_SITE", False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    return tmp_path


def test_search_order_of_nvcc(bare, monkeypatch):
    monkeypatch.setenv("CUDA_HOME", str(bare / "home"))
    monkeypatch.setenv("CUDA_PATH", str(bare / "cuda-path"))
    places = [
        bare / "purelib" / "nvidia" / "cu13",  # the interpreter's, if pip isolates the build
        bare / "env" / "nvidia" / "cu13",
        bare / "usr-local-cuda",
        bare / "on-path",
        bare / "cuda-path",
        bare / "home",
        bare / "explicit",
    ]
    assert isinstance(toolchain.find_toolkit(), str)
    for place in places:  # each takes precedence over the previous ones
        nvcc = fake_toolkit(place, lib="lib" if "cu13" in place.name else "lib64")
        if place.name == "on-path":
            script(bare / "path" / "nvcc", "").unlink()
            (bare / "path" / "nvcc").symlink_to(nvcc)
            nvcc = bare / "path" / "nvcc"
        if place.name == "explicit":
            monkeypatch.setenv("NVCC", str(nvcc))
        toolkit = toolchain.find_toolkit()
        assert toolkit.nvcc == nvcc
        assert toolkit.include.resolve() == place / "include"
        assert any((folder / "libcudart_static.a").exists() for folder in toolkit.libraries)


def test_an_incomplete_toolkit_is_skipped(bare, monkeypatch):
    monkeypatch.setenv("CUDA_HOME", str(bare / "home"))
    nvcc = fake_toolkit(bare / "home")
    shutil.rmtree(bare / "home" / "lib64")
    assert "libcudart_static.a" in toolchain.find_toolkit()
    fake_toolkit(bare / "usr-local-cuda")
    assert toolchain.find_toolkit().nvcc == bare / "usr-local-cuda" / "bin" / "nvcc"
    monkeypatch.setenv("NVCC", str(nvcc))
    with pytest.raises(build.BuildError, match=r"NVCC is .*home/bin/nvcc.* libcudart_static\.a"):
        toolchain.find_toolkit()
    monkeypatch.setenv("NVCC", "/no/such/nvcc")
    with pytest.raises(build.BuildError, match=r"NVCC is '/no/such/nvcc', which is not there"):
        toolchain.find_toolkit()


def test_gpumem_cuda_variable(bare, monkeypatch):
    messages = []
    assert toolchain.choose_toolkit(messages.append) is None
    assert messages[-1].startswith("gpumem: no nvcc found: building the simulator alone")
    monkeypatch.setenv("GPUMEM_CUDA", "1")
    with pytest.raises(build.BuildError) as failure:
        toolchain.choose_toolkit(messages.append)
    for place in ("NVCC", "CUDA_HOME", "CUDA_PATH", "PATH", "usr-local-cuda", "nvidia-cuda-nvcc"):
        assert place in str(failure.value)
    nvcc = fake_toolkit(bare / "usr-local-cuda")
    monkeypatch.setenv("GPUMEM_CUDA_ARCHS", "release")
    assert toolchain.choose_toolkit(messages.append).nvcc == nvcc
    assert messages[-1] == f"gpumem: CUDA kernels for 80+PTX, 90a, 100, 120 with nvcc 13.0 ({nvcc})"
    monkeypatch.setenv("GPUMEM_CUDA", "0")
    assert toolchain.choose_toolkit(messages.append) is None
    monkeypatch.setenv("GPUMEM_CUDA", "yes")
    with pytest.raises(build.BuildError, match="GPUMEM_CUDA is 'yes'; it should be auto, 1 or 0"):
        toolchain.choose_toolkit(messages.append)


def test_without_a_gpu_only_named_targets_are_built(bare, monkeypatch):
    messages = []
    nvcc = fake_toolkit(bare / "usr-local-cuda")
    assert toolchain.choose_toolkit(messages.append) is None
    assert messages == [
        "gpumem: nvcc 13.0 is here, but no GPU: building the simulator alone; set"
        " GPUMEM_CUDA_ARCHS to compile CUDA kernels, for example 90a (H100, H200) or release"
        " (80,90a,100,120)"
    ]
    monkeypatch.setenv("GPUMEM_CUDA", "1")
    with pytest.raises(
        build.BuildError, match=r"GPUMEM_CUDA is 1, but .* no GPU; set GPUMEM_CUDA_"
    ):
        toolchain.choose_toolkit(messages.append)
    monkeypatch.setenv("GPUMEM_CUDA_ARCHS", "90a")
    assert toolchain.choose_toolkit(messages.append).archs == ("90a",)
    monkeypatch.delenv("GPUMEM_CUDA_ARCHS")
    script(nvcc.with_name("__nvcc_device_query"), "echo 90,120")
    assert toolchain.choose_toolkit(messages.append).archs == ("90a", "120")
    script(nvcc.with_name("__nvcc_device_query"), "echo failed to load the driver; exit 1")
    monkeypatch.setenv("GPUMEM_CUDA_ARCHS", "native")
    with pytest.raises(build.BuildError, match="GPUMEM_CUDA_ARCHS is 'native', but there is no GP"):
        toolchain.choose_toolkit(messages.append)


def test_gpus_that_this_nvcc_does_not_know(bare, monkeypatch):
    messages = []
    fake_toolkit(bare / "usr-local-cuda", codes="80 90")
    smi = script(bare / "path" / "nvidia-smi", 'echo "9.0\n7.0"')
    assert toolchain.choose_toolkit(messages.append).archs == ("90a",)
    assert messages[0] == "gpumem: nvcc 13.0 does not know 70; it knows 80, 90: left out"
    script(smi, "echo 7.0")
    assert toolchain.choose_toolkit(messages.append) is None
    assert "the GPUs here need another nvcc: nvcc 13.0 does not know 70" in messages[-1]


@pytest.mark.parametrize("variable", ["CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS"])
def test_an_unbalanced_quote_is_named(variable, tmp_path):
    environment = {**os.environ, "GPUMEM_CUDA": "0", variable: "-DNAME='half"}
    command = [sys.executable, "-c", f"""
import sys
sys.path.insert(0, {str(SOURCE.parent)!r})
import build
try:
    build.build_module(build.ROOT / "csrc" / "kernels", {str(tmp_path / "core.so")!r},
                       {str(tmp_path)!r})
except build.BuildError as error:
    print(error)
"""]  # fmt: skip
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == (
        f'gpumem: {variable} is "-DNAME=\'half": no closing quotation; it should be words quoted as'
        " in a shell\n"
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "archs"),
    [
        ("", None),
        ("release", ["80", "90a", "100", "120"]),
        ("80", ["80"]),
        ("120;80, 90a", ["80", "90a", "120"]),
        ("90A 90 90a", ["90", "90a"]),
        ("100f,", ["100f"]),
        ("Native", ["native"]),
    ],
)
def test_wanted_archs(text, archs):
    assert toolchain.wanted_archs({"GPUMEM_CUDA_ARCHS": text}) == archs


@pytest.mark.parametrize("text", ["sm_80", "8.0", "80,native", "hopper", "8", "80 -rf", ","])
def test_invalid_archs(text):
    with pytest.raises(build.BuildError, match=r"GPUMEM_CUDA_ARCHS is .* such as 80,90a,100,120"):
        toolchain.choose_toolkit(print, {"GPUMEM_CUDA_ARCHS": text, "GPUMEM_CUDA": "0"})


def test_targets_an_old_nvcc_does_not_know(bare, monkeypatch):
    messages = []
    toolkit = toolchain.open_toolkit(fake_toolkit(bare, "12.4", codes="52 80 90"))
    monkeypatch.setenv("GPUMEM_CUDA_ARCHS", "80,90a")
    chosen = toolchain.choose_archs(toolkit, messages.append)
    assert chosen.archs == ("80", "90a") and chosen.ptx == "80"
    monkeypatch.setenv("GPUMEM_CUDA_ARCHS", "90a,120")
    with pytest.raises(build.BuildError, match="does not know 120; it knows 52, 80, 90"):
        toolchain.choose_archs(toolkit, messages.append)


def test_code_flags(bare, monkeypatch):
    toolkit = toolchain.open_toolkit(fake_toolkit(bare))
    monkeypatch.setenv("GPUMEM_CUDA_ARCHS", "100,90a")
    chosen = toolchain.choose_archs(toolkit, print)
    # 90a is lower, but PTX for 90a runs only on that architecture.
    assert chosen.describe_archs(",") == "90a,100+PTX"
    assert chosen.code_flags() == [
        "-gencode", "arch=compute_90a,code=[sm_90a]",
        "-gencode", "arch=compute_100,code=[sm_100,compute_100]",
    ]  # fmt: skip


def test_native(bare, monkeypatch):
    toolkit = toolchain.open_toolkit(fake_toolkit(bare))
    monkeypatch.setenv("GPUMEM_CUDA_ARCHS", "native")
    script(bare / "path" / "nvidia-smi", 'echo "12.0\n9.0\n9.0"')
    chosen = toolchain.choose_archs(toolkit, print)
    assert chosen.archs == ("90a", "120") and chosen.ptx == "120"


def test_a_compiler_that_does_not_work(tmp_path):
    with pytest.raises(build.BuildError, match="cannot run /no/such/cc"):
        build.host_compiler("CC", {"CC": "/no/such/cc"})
    with pytest.raises(build.BuildError, match=r"CC is '.*tcc -x', which does not work"):
        tcc = script(tmp_path / "tcc", "echo what >&2; exit 1")
        build.host_compiler("CC", {"CC": f"{tcc} -x"})


@pytest.mark.parametrize(
    ("macros", "message"),
    [
        ({"__GNUC__": 10}, r"is GCC 10, which is too old\..*GCC 11 or Clang 14.*Install g\+\+"),
        ({"__GNUC__": 4, "__clang__": 1, "__clang_major__": 13}, r"is Clang 13, which is too old"),
        ({"__GNUC__": 11}, None),
        ({"__GNUC__": 4, "__clang__": 1, "__clang_major__": 14}, None),
    ],
)
def test_a_compiler_that_is_too_old(tmp_path, macros, message):
    macros = {**macros, "__VERSION__": '"as it says"', "__x86_64__": 1}
    lines = "\n".join(f"#define {name} {value}" for name, value in macros.items())
    old = script(tmp_path / "c++", f"cat <<'END'\n{lines}\nEND")
    if message:
        with pytest.raises(build.BuildError, match=message):
            build.host_compiler("CXX", {"CXX": str(old)})
    else:
        assert build.host_compiler("CXX", {"CXX": str(old)}).machine == "x86_64"


def test_no_compiler_on_the_path(tmp_path):
    with pytest.raises(build.BuildError, match=r"no C compiler was found.*gcc, cc, clang.*Install"):
        build.host_compiler("CC", {"PATH": str(tmp_path)})


def test_job_count():
    assert build_cache.job_count({"GPUMEM_JOBS": "3", "MAKEFLAGS": " -j8"}) == 3
    assert build_cache.job_count({"MAKEFLAGS": "w -j8 --jobserver-auth=3,4"}) == 8
    assert build_cache.job_count({}) >= 1
    with pytest.raises(build.BuildError, match="GPUMEM_JOBS is '0'"):
        build_cache.job_count({"GPUMEM_JOBS": "0"})


def test_read_depfile():
    text = "out.o: csrc/a.cu csrc/a\\ b.h \\\n  csrc/kernels/device.h \\\n /x/$$y.h\n"
    assert build_cache.read_depfile(text) == [
        "/x/$y.h", "csrc/a b.h", "csrc/a.cu", "csrc/kernels/device.h",
    ]  # fmt: skip
