"""The cache of compiled modules, and the errors for compilers that are missing or incomplete."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from processes import at_once, python

import gpumem as gm


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GPUMEM_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "modules"


def kernel_that_adds(number):
    return gm.load(source=f"__global__ void k(int *x) {{ *x += {number}; }}")


def result_of(module):
    x = np.zeros(1, np.int32)
    module["k"][1, 1](x)
    return x[0]


def test_a_later_load_runs_no_compiler(cache, monkeypatch):
    assert result_of(kernel_that_adds(41)) == 41
    from gpumem.cuda_c import compile as compiling

    def fail(*_):
        raise AssertionError("compiled again")

    monkeypatch.setattr(compiling, "_compile_anew", fail)
    assert result_of(kernel_that_adds(41)) == 41


def test_the_cache_is_the_users_alone(cache):
    kernel_that_adds(1)
    assert cache.stat().st_mode & 0o777 == 0o700
    cache.chmod(0o777)
    with pytest.raises(gm.CompileError, match=r"no place for compiled code.*chmod 700"):
        kernel_that_adds(1)


def test_the_cache_is_limited(cache, monkeypatch):
    kernel_that_adds(1)
    size = sum(one.stat().st_size for one in cache.iterdir())
    monkeypatch.setenv("GPUMEM_CACHE_LIMIT", str(2 * size))
    for number in range(2, 5):
        kernel_that_adds(number)
    assert sum(one.stat().st_size for one in cache.iterdir()) <= 2 * size
    assert len(list(cache.glob("*.so"))) < 4
    assert result_of(kernel_that_adds(4)) == 4
    assert result_of(kernel_that_adds(1)) == 1


def test_a_damaged_manifest_is_no_harm(cache):
    kernel_that_adds(5)
    for damage in ("", "{}", '{"format": 1}', "[]", "\0"):
        (manifest,) = cache.glob("*.json")
        manifest.write_text(damage)
        assert result_of(kernel_that_adds(5)) == 5


def test_a_removed_object_is_compiled_again(cache):
    kernel_that_adds(6)
    for one in cache.glob("*.so"):
        one.unlink()
    assert result_of(kernel_that_adds(6)) == 6


@pytest.mark.parametrize("text", ["much", "-1", "1M,2M", "1K:4K"])
def test_a_limit_that_is_no_size(cache, monkeypatch, text):
    monkeypatch.setenv("GPUMEM_CACHE_LIMIT", text)
    with pytest.raises(gm.CompileError, match=f"GPUMEM_CACHE_LIMIT is '{text}'.*512M"):
        kernel_that_adds(1)
    assert not cache.exists()


def test_a_cache_that_cannot_be_made(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("GPUMEM_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(gm.CompileError, match=r"cannot write to .*file/modules.*GPUMEM_CACHE_DIR"):
        kernel_that_adds(1)


def test_a_cache_that_cannot_be_written(cache, monkeypatch):
    """What is in it serves, though."""
    kernel_that_adds(1)

    def refuse(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    for name in ("tempfile.mkstemp", "os.utime"):
        monkeypatch.setattr(f"gpumem.cuda_c.cache.{name}", refuse)
    assert result_of(kernel_that_adds(1)) == 1
    with pytest.raises(
        gm.CompileError, match=r"cannot write to .*modules.*: Read-only file system"
    ):
        kernel_that_adds(2)


def test_several_processes_share_a_cache(cache):
    code = """
    import numpy as np, gpumem as gm
    x = np.zeros(1, "i4")
    for number in 1, 2:
        gm.load(source=f"__global__ void k(int *x) {{ *x += {number}; }}")["k"][1, 1](x)
    print(*x)
    """
    assert at_once(3, lambda _: python(code, GPUMEM_CACHE_DIR=str(cache.parent))) == ["3\n"] * 3
    assert len(list(cache.glob("*.so"))) == 2 and not list(cache.glob("*.part"))


MOUNT = 'mount -t tmpfs -o noexec none "$0"'
APART = ["unshare", "--map-root-user", "--mount", "sh", "-c"]  # with mounts of its own


def test_a_folder_whose_files_may_not_be_executed(tmp_path):
    """The C library says of it what it says where memory is short."""
    if (
        not shutil.which("unshare")
        or subprocess.run([*APART, MOUNT, tmp_path], capture_output=True).returncode
    ):
        pytest.skip("no file system can be mounted here")
    code = "import gpumem; gpumem.load(source='__global__ void k() {}', backend='sim')"
    done = subprocess.run(
        [*APART, f'{MOUNT} && exec "$@"', tmp_path, sys.executable, "-c", code],
        env=os.environ | {"GPUMEM_CACHE_DIR": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert re.search(r"UnavailableError: .*noexec.*GPUMEM_CACHE_DIR", done.stderr), done.stderr


# ---- compilers that are missing, or lack something -----------------------------------------------

PACKAGES = r"(.|\n)*Install g\+\+ \(Debian, Ubuntu\), gcc-c\+\+ \(Fedora\) or cxx-compiler"


def test_compilers_behind_a_wrapper(cache, monkeypatch):
    """As in CXX="ccache g++"."""
    monkeypatch.setenv("CC", "env cc")
    monkeypatch.setenv("CXX", "env c++ -DNUMBER=3")
    kernel = gm.load(source="__global__ void k(int *x) { *x += NUMBER; }")["k"]
    x = np.zeros(1, "i4")
    kernel[1, 1](x)
    assert gm.check(kernel[1, 1], x).ok and x[0] == 6


@pytest.mark.parametrize(
    ("variable", "command", "message"),
    [
        (
            "PATH",
            "/nowhere",
            r"no C\+\+ compiler was found: the PATH has none of g\+\+, c\+\+, clang",
        ),
        ("CXX", "no-such-compiler", "cannot run no-such-compiler"),
        ("CC", "no-such-compiler", "cannot run no-such-compiler"),
        ("CXX", "false", "CXX is 'false', which does not work"),
        ("CXX", "c++ -nostdinc", r"c\+\+ does not find <\w+\.h>, a header of the standard library"),
        (
            "CC",
            "cc -Wl,-lnone",
            "linking (.|\n)*The compiler is not complete",
        ),
    ],
    ids=["none", "no C++", "no C", "not one", "no headers", "no library"],
)
def test_no_compiler(cache, monkeypatch, variable, command, message):
    for name in ("CC", "CXX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, command)
    with pytest.raises(gm.CompileError, match=message + PACKAGES):
        kernel_that_adds(1)


def test_nothing_is_left_in_the_temporary_folder(cache, tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    modules = [kernel_that_adds(8), kernel_that_adds(8)]
    assert [result_of(one) for one in modules] == [8, 8]
    with pytest.raises(gm.CompileError):
        gm.load(source="__global__ void k() { wrong }")
    assert os.listdir(folder) == []
