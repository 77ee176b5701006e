"""The builder: the table of accesses, the toolchain's environment variables, and the cache.

These tests need no nvcc, GPU or setuptools; they build a tiny tree with the same layout.
"""

import fcntl
import importlib.machinery
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "csrc" / "build.py"
if not SOURCE.exists():
    pytest.skip("the builder is only there in a source tree", allow_module_level=True)


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


build = load("gpumem_build_tested", SOURCE)
toolchain = sys.modules["build_toolchain"]
build_cache = sys.modules["build_cache"]
tabulate_accesses = sys.modules["build_sites"].tabulate_accesses


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    """Remove the variables that affect a build."""
    for name in (
        "CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "MAKEFLAGS", "NVCC", "CUDA_HOME",
        "CUDA_PATH", "GPUMEM_CUDA", "GPUMEM_CUDA_ARCHS", "GPUMEM_JOBS",
    ):  # fmt: skip
        monkeypatch.delenv(name, raising=False)


# ---- the table of accesses ------------------------------------------------------------------


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


# ---- the toolchain --------------------------------------------------------------------------


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


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


# ---- a tiny tree ----------------------------------------------------------------------------

TREE = {
    "gpumem/base/version.py": '__version__ = "7.8.9"\n',
    "csrc/table.c": """\
        #include "families.def"
        int tiny_families(void) { return FAMILIES; }
        """,
    "csrc/backend/cuda.c": "#error built without nvcc\n",
    "csrc/backend/cuda_absent.c": "int tiny_absent(void) { return 1; }\n",
    "csrc/sim/fiber.c": "int tiny_fiber;\n",
    "csrc/sim/hooks.c": """\
        #define HOOK(name) void name(void *a); void name(void *a) { (void)a; }
        HOOK(__tsan_read4) HOOK(__tsan_read16) HOOK(__tsan_write4) HOOK(__tsan_write16)
        void __tsan_init(void); void __tsan_init(void) {}
        """,
    "csrc/sim/simt.h": """\
        typedef float whole __attribute__((vector_size(16), may_alias));
        struct __attribute__((aligned(16))) float4 {
            float x, y, z, w;
            float4 &operator=(const float4 &other)
            {
                *(whole *)this = *(const whole *)&other;
                return *this;
            }
        };
        """,
    "csrc/kernels/device.h": '#include "sim/simt.h"\n',
    "csrc/kernels/families.def": "#define FAMILIES 1\n",
    "csrc/kernels/copy/copy.h": '#include "device.h"\nenum { STEP = 2 };\n',
    "csrc/kernels/copy/copy.c": "int tiny_copy;\n",
    "csrc/kernels/copy/vec4.cu": """\
        #include "copy.h"
        #ifdef GM_BUILD_TRACED
        #define copy_vec4 traced_copy_vec4
        #endif
        extern "C" void copy_vec4(float4 *out, const float4 *in, long n);
        extern "C" void copy_vec4(float4 *out, const float4 *in, long n)
        {
            for (long i = 0; i < n; i += STEP) {
                out[i] = in[i];
            }
            out[n].x = 1;
        }
        """,
    "csrc/python/module.c": """\
        #include <Python.h>
        #include <numpy/ndarraytypes.h>
        #include <stdint.h>
        typedef struct { const void *address; const char *file; int32_t line, zero; } site;
        extern const site __start_gm_sites[] __attribute__((visibility("hidden")));
        extern const site __stop_gm_sites[] __attribute__((visibility("hidden")));
        int tiny_families(void);
        void copy_vec4(void *, const void *, long);
        void traced_copy_vec4(void *, const void *, long);
        static PyObject *sites(PyObject *self, PyObject *none)
        {
            (void)self, (void)none;
            PyObject *list = PyList_New(0);
            for (const site *s = __start_gm_sites; s < __stop_gm_sites; s++) {
                PyObject *item = Py_BuildValue("Nsi", PyBool_FromLong(
                    (const char *)s->address > (const char *)traced_copy_vec4), s->file, s->line);
                PyList_Append(list, item);
                Py_DECREF(item);
            }
            return list;
        }
        static PyMethodDef methods[] = {{"sites", sites, METH_NOARGS, 0}, {0}};
        static PyModuleDef module = {
            PyModuleDef_HEAD_INIT, .m_name = "_core", .m_doc = __FILE__, .m_methods = methods};
        PyMODINIT_FUNC PyInit__core(void)
        {
            PyObject *made = PyModule_Create(&module);
            PyModule_AddStringConstant(made, "version", GM_VERSION);
            PyModule_AddIntConstant(made, "families", tiny_families());
            PyModule_AddIntConstant(made, "plain", copy_vec4 != traced_copy_vec4);
            return made;
        }
        """,
}
needs_compiler = pytest.mark.skipif(
    not (shutil.which("gcc") and shutil.which("g++")), reason="there is no gcc or g++ here"
)


def write(root, name, text):
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(textwrap.dedent(text))
    # The builder recompiles a file that is as new as its object.
    os.utime(root / name, (1e9, 1e9))


@pytest.fixture
def tree(tmp_path):
    for name, text in TREE.items():
        write(tmp_path / "tree", name, text)
    return tmp_path / "tree"


def make(tree, kernels="csrc/kernels", output="out/_core.so"):
    builder = build.build_module(
        tree / kernels, tree / output, tree / "build" / "cache", root=tree, announce=print
    )
    return sorted(builder.compiled)


def import_core(tree, output="out/_core.so", name="tiny._core"):
    loader = importlib.machinery.ExtensionFileLoader(name, str(tree / output))
    spec = importlib.util.spec_from_file_location(name, str(tree / output), loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@needs_compiler
@pytest.mark.parametrize("compilers", ["gcc g++", "clang clang++"])
def test_a_module_contains_its_table_of_accesses(tree, compilers, monkeypatch):
    cc, cxx = compilers.split()
    if not (shutil.which(cc) and shutil.which(cxx)):
        pytest.skip(f"there is no {cxx} here")
    monkeypatch.setenv("CC", cc)
    monkeypatch.setenv("CXX", cxx)
    make(tree)
    core = import_core(tree)
    assert (core.version, core.families, core.plain) == ("7.8.9", 1, 1)
    assert core.__doc__ == "csrc/python/module.c"
    kernel = "csrc/kernels/copy/vec4.cu"
    assert sorted(core.sites()) == [(True, kernel, 9), (True, kernel, 9), (True, kernel, 11)]
    # The module contains no build path and does not need the C++ library.
    contents = (tree / "out" / "_core.so").read_bytes()
    assert str(tree.parent).encode() not in contents
    assert b"libstdc++" not in contents and b"libtsan" not in contents


@needs_compiler
def test_only_what_changed_is_compiled(tree):
    everything = make(tree)
    kernel = ["plain csrc/kernels/copy/vec4.cu", "traced csrc/kernels/copy/vec4.cu"]
    assert set(kernel) < set(everything) and len(everything) == 8
    assert make(tree) == []
    (tree / "csrc/kernels/copy/copy.h").touch()  # like a checkout: new date, same contents
    assert make(tree) == []
    write(tree, "csrc/kernels/copy/copy.h", '#include "device.h"\nenum { STEP = 3 };\n')
    assert make(tree) == kernel
    write(tree, "csrc/kernels/copy/copy.h", TREE["csrc/kernels/copy/copy.h"])
    assert make(tree) == []  # the old objects are still there
    write(
        tree, "csrc/sim/simt.h", "#define SOMETHING 1\n" + textwrap.dedent(TREE["csrc/sim/simt.h"])
    )
    assert make(tree) == kernel
    write(tree, "gpumem/base/version.py", '__version__ = "7.9.0"\n')
    assert make(tree) == ["c csrc/python/module.c"]
    assert import_core(tree, name="tiny79._core").version == "7.9.0"


@needs_compiler
def test_changed_flags_recompile(tree, monkeypatch):
    make(tree)
    monkeypatch.setenv("CXXFLAGS", "-DMORE=1")
    assert make(tree) == ["plain csrc/kernels/copy/vec4.cu"]
    monkeypatch.setenv("CFLAGS", "-DMORE=1")
    assert {job.split()[0] for job in make(tree)} == {"c"}


@needs_compiler
def test_a_file_edited_during_compilation_is_compiled_again(tree):
    later = 4e9
    os.utime(tree / "csrc/table.c", (later, later))
    make(tree)
    assert make(tree) == ["c csrc/table.c"]


@needs_compiler
def test_another_table_shares_the_other_objects(tree):
    make(tree)
    write(tree, "tests/probes/families.def", "#define FAMILIES 2\n")
    write(tree, "tests/probes/probe/probe.cu", TREE["csrc/kernels/copy/vec4.cu"])
    write(tree, "tests/probes/probe/copy.h", TREE["csrc/kernels/copy/copy.h"])
    assert make(tree, "tests/probes", "probes/_core.so") == [
        "c csrc/table.c",
        "plain tests/probes/probe/probe.cu",
        "traced tests/probes/probe/probe.cu",
    ]
    core = import_core(tree, "probes/_core.so", "probes._core")
    assert core.families == 2
    assert {file for _, file, _ in core.sites()} == {"tests/probes/probe/probe.cu"}
    assert make(tree) == []


@needs_compiler
def test_an_unlisted_family_is_found(tree):
    table = """\
        enum { FIRST = 1 };
        #ifndef GM_MORE_FAMILIES
        #define GM_MORE_FAMILIES
        #endif
        #include "families.def"
        #define FAMILY(name) + 10
        int tiny_families(void) { return FAMILIES GM_MORE_FAMILIES; }
        """
    write(tree, "csrc/table.c", table)
    write(tree, "csrc/kernels/families.def", "#define FAMILIES 1\n/*\nFAMILY(copy)\n*/\n")
    write(tree, "csrc/kernels/copy/ladder.def", "")
    make(tree)
    write(tree, "csrc/kernels/other/ladder.def", "")
    assert make(tree) == ["c csrc/table.c"]
    assert import_core(tree).families == 11


@needs_compiler
def test_a_truncated_object_is_rebuilt(tree):
    everything = make(tree)
    cache = tree / "build" / "cache"
    for path in [*cache.glob("*.o"), *cache.glob("_core.so-*")]:
        if path.suffix != ".sha256":
            os.truncate(path, path.stat().st_size // 2)
    (tree / "out/_core.so").unlink()
    assert make(tree) == everything
    assert import_core(tree, name="tiny_whole._core").version == "7.8.9"
    next(cache.glob("*table.c-*.sha256")).unlink()  # as if killed before writing the digest
    assert make(tree) == ["c csrc/table.c"]


@needs_compiler
def test_folders_of_killed_builds_are_removed(tree):
    cache = tree / "build" / "cache"
    alive, killed, fresh = (cache / f"making-{name}" for name in ("alive", "killed", "fresh"))
    for folder in (alive, killed, fresh):
        folder.mkdir(parents=True)
        (folder / "out.s").touch()
    for folder in (alive, killed):
        os.utime(folder, (1e9, 1e9))
    held = os.open(alive, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        make(tree)
    finally:
        os.close(held)
    assert {path.name for path in cache.iterdir() if path.is_dir()} == {alive.name, fresh.name}


@needs_compiler
def test_a_killed_build_unlocks_its_folder(tree, tmp_path):
    """The next build removes a folder that is not locked; the lock ends with the process."""
    hanging = script(tmp_path / "hanging", f"touch {tmp_path}/begun; exec sleep 600")
    command = [sys.executable, "-c", f"""
import sys
sys.path.insert(0, {str(SOURCE.parent)!r})
from pathlib import Path
from build_cache import Builder, Job
Builder(Path({str(tree)!r}), Path({str(tree)!r}, "cache")).objects(
    [Job("csrc/table.c", "c", [{str(hanging)!r}], "")])
"""]  # fmt: skip
    with subprocess.Popen(command, start_new_session=True) as builder:
        while not (tmp_path / "begun").exists():
            assert builder.poll() is None
        (folder,) = (tree / "cache").glob("making-*")
        os.utime(folder, (1e9, 1e9))
        build_cache.remove_if_abandoned(folder)
        assert folder.exists()
        os.killpg(builder.pid, signal.SIGKILL)
    os.utime(folder, (1e9, 1e9))
    build_cache.remove_if_abandoned(folder)
    assert not folder.exists()


@needs_compiler
def test_progress_is_reported(tree, monkeypatch):
    steps = []
    build.build_module(
        tree / "csrc/kernels", tree / "out/_core.so", tree / "build/cache", root=tree,
        progress=lambda *step: steps.append(step),
    )  # fmt: skip
    assert steps == [(done, 8) for done in range(1, 9)]
    monkeypatch.setattr(build.Progress, "SECONDS", 0)
    messages = []
    build.build_module(
        tree / "csrc/kernels", tree / "out/_core.so", tree / "build/cache", root=tree,
        announce=messages.append,
    )  # fmt: skip
    assert messages[-1] == "gpumem: 8 of 8 objects"


@needs_compiler
def test_headers_add_options(tree):
    kernel = tree / "csrc/kernels/copy/vec4.cu"
    assert build.options_of(kernel, "plain") == []
    kernel.write_text("/*\n * Build    nvcc -Xptxas=-O1\n */\n" + kernel.read_text())
    family = tree / "csrc/kernels/copy/copy.h"
    family.write_text("/*\n * Build    plain -O3\n */\n" + family.read_text())
    assert build.options_of(kernel, "plain") == ["-O3"]
    assert build.options_of(kernel, "nvcc") == ["-Xptxas=-O1"]


@needs_compiler
def test_a_moved_checkout_reuses_its_objects(tree):
    make(tree)
    moved = tree.rename(tree.with_name("moved"))
    assert make(moved) == []


@needs_compiler
def test_a_module_in_use_is_replaced_not_overwritten(tree):
    make(tree)
    before = (tree / "out/_core.so").stat().st_ino
    make(tree)
    assert (tree / "out/_core.so").stat().st_ino != before
    assert [path.name for path in (tree / "out").iterdir()] == ["_core.so"]


@needs_compiler
def test_failures_show_the_command_and_the_message(tree, capsys):
    write(tree, "csrc/table.c", "int unfinished(void) {\n")
    with pytest.raises(build.BuildError) as failure:
        make(tree)
    assert re.search(r"failed:\n\S*cc -std=c11 .* csrc/table\.c .*\n", str(failure.value))
    assert "csrc/table.c:1" in str(failure.value)
    write(tree, "csrc/table.c", "static int unused;\nint tiny_families(void) { return 1; }\n")
    make(tree)
    assert "-Wunused" in capsys.readouterr().out


def test_the_script_reports_errors_without_a_traceback(tmp_path):
    environment = {**os.environ, "GPUMEM_CUDA": "maybe"}
    done = subprocess.run(
        [sys.executable, str(SOURCE)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.strip() == "gpumem: GPUMEM_CUDA is 'maybe'; it should be auto, 1 or 0"
