"""The build on a tiny tree: what is compiled again, and what is not."""

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

import pytest
from build_cases import SOURCE, build, build_cache, script

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


def test_no_option_is_lost_in_a_paragraph():
    """A formatter may join the lines of a comment; then an option would be a word of prose."""
    kernels = sorted((SOURCE.parent / "kernels").glob("*/*.cu"))
    assert kernels
    found = 0
    for kernel in kernels:
        named = re.findall(r"\bBuild +(nvcc|plain) ", kernel.read_text(encoding="utf-8"))
        family = kernel.parent / f"{kernel.parent.name}.h"
        if family.exists():
            named += re.findall(r"\bBuild +(nvcc|plain) ", family.read_text(encoding="utf-8"))
        taken = [build.options_of(kernel, how) for how in ("nvcc", "plain")]
        assert sum(map(len, taken)) == len(named), kernel
        found += len(named)
    assert found


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
