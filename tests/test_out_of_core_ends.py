"""gpumem.out_of_core: calls that end early, and memory."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from out_of_core_cases import in_file, make_blocks, make_simulator, make_small, same
from processes import at_once, python

import gpumem.out_of_core as gmo
from gpumem.out_of_core import moves

simulator = pytest.fixture(autouse=True)(make_simulator)
small = pytest.fixture(make_small)
blocks = pytest.fixture(make_blocks)


# ---- calls that end early -----------------------------------------------------------------------


def interrupt(at):
    """Progress that sends Ctrl-C before a step."""

    def progress(done, total, text):
        assert 0 <= done <= total and text in ("transpose", "matmul")
        if done == at:
            os.kill(os.getpid(), signal.SIGINT)

    return progress


def test_an_interrupted_memmap_says_so(tmp_path, rng, small):
    a = in_file(tmp_path / "a", rng.integers(1, 2**30, (200, 300), "i4"))
    out = np.memmap(tmp_path / "b", "i4", "w+", shape=(300, 200))
    marker = tmp_path / "b.incomplete"
    with pytest.raises(KeyboardInterrupt):
        gmo.transpose(a, out, progress=interrupt(3))
    assert not same(out, a.T)
    assert json.loads(marker.read_text())["call"] == "transpose"
    with pytest.raises(gmo.IncompleteError, match=r"a is in .*/b, which is incomplete"):
        gmo.copy(out, tmp_path / "c.npy")
    with pytest.raises(gmo.IncompleteError, match="another part of out's file"):
        gmo.copy(a[:10, :200], out[20:30])
    with pytest.raises(gmo.IncompleteError, match="another part of out's file"):
        gmo.transpose(a[:10], out[:, :10])
    assert marker.exists()
    gmo.transpose(a, out)
    assert same(out, a.T) and not marker.exists()


def test_an_interrupted_path_keeps_what_was_there(tmp_path, blocks):
    np.save(tmp_path / "c.npy", np.zeros(3))
    before = (tmp_path / "c.npy").read_bytes()
    one = np.ones((30, 30), "f4")
    with pytest.raises(KeyboardInterrupt):
        gmo.matmul(one, one, tmp_path / "c.npy", progress=interrupt(9))
    assert (tmp_path / "c.npy").read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["c.npy"]


def test_a_path_replaces_an_incomplete_file(tmp_path, small):
    """The new file is complete, and keeps the permissions of the old one."""
    a = np.ones((200, 300), "i4")
    out = np.lib.format.open_memmap(tmp_path / "b.npy", "w+", dtype="i4", shape=(300, 200))
    (tmp_path / "b.npy").chmod(0o640)
    with pytest.raises(KeyboardInterrupt):
        gmo.transpose(a, out, progress=interrupt(3))
    gmo.transpose(a, tmp_path / "b.npy")
    assert same(gmo.copy(tmp_path / "b.npy", np.empty((300, 200), "i4")), a.T)
    assert (tmp_path / "b.npy").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("name", ["read_part", "write_part"])
def test_a_failing_disk(name, tmp_path, monkeypatch, small):
    a = np.ones((200, 300))
    calls = []

    def fail(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise OSError(5, "Input/output error")
        return original(*arguments)

    original = getattr(moves, name)
    monkeypatch.setattr(moves, name, fail)
    out = np.memmap(tmp_path / "b", "f8", "w+", shape=(300, 200))
    with pytest.raises(OSError, match="Input/output error"):
        gmo.transpose(a, out)
    assert (tmp_path / "b.incomplete").exists()
    calls.clear()
    with pytest.raises(OSError, match="Input/output error"):
        gmo.transpose(a, tmp_path / "c.npy")
    assert not list(tmp_path.glob("c*"))


def test_a_file_larger_than_allowed(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            gmo.copy(np.zeros(2**16), tmp_path / "b.npy")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(tmp_path.iterdir())


FULL_DISK = """
    import sys, numpy as np, gpumem.out_of_core as gmo
    from pathlib import Path

    folder = Path(sys.argv[1])
    out = np.memmap(folder / "b", "u1", "w+", shape=2**24)  # without blocks
    for target in (folder / "c.npy", out):
        try:
            gmo.copy(np.ones(2**24, "u1"), target)
        except OSError as error:
            print(error)
    print(sorted(one.name for one in folder.iterdir()))
"""


def test_a_full_disk(tmp_path):
    """An error before anything is written; a write through a map would end the process."""
    alone = ["unshare", "-rm"]
    mount = ["mount", "-t", "tmpfs", "-o", "size=4M", "none", tmp_path]
    if (
        not shutil.which("unshare")
        or subprocess.run([*alone, *mount], stderr=subprocess.DEVNULL).returncode
    ):
        pytest.skip("a small file system cannot be mounted here")
    program = textwrap.dedent(FULL_DISK)
    shell = 'mount -t tmpfs -o size=4M none "$1" && exec "$2" -c "$3" "$1"'
    done = subprocess.run(
        [*alone, "sh", "-c", shell, "sh", tmp_path, sys.executable, program],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    first, second, names = done.stdout.splitlines()
    assert "No space left on device" in first and "c.npy" in first
    assert "No space left on device" in second and str(tmp_path / "b") in second
    assert names == "['b']"


KILLED = """
    import os, numpy as np, gpumem.out_of_core as gmo
    from gpumem.out_of_core import moves

    moves._SMALL = 1
    a = np.arange(60000).reshape(200, 300)
    out = np.memmap("b", a.dtype, "w+", shape=(300, 200))

    def progress(done, total, text):
        if done == 3:
            os._exit(9)  # as SIGKILL: nothing is cleaned up

    gmo.transpose(a, {out}, progress=progress)
"""


def test_a_killed_call(tmp_path, monkeypatch):
    """The marker stays, and so does what was renamed only when complete; both can be redone."""
    monkeypatch.chdir(tmp_path)
    for out in ("out", '"c.npy"'):
        with pytest.raises(AssertionError, match="exit 9"):
            python(KILLED.format(out=out))
    assert sorted(os.listdir()) == ["b", "b.incomplete", "c.npy.partial"]
    a = np.arange(60000).reshape(200, 300)
    out = np.memmap("b", a.dtype, "r+", shape=(300, 200))
    with pytest.raises(gmo.IncompleteError):
        gmo.copy(out, "d.npy")
    assert same(gmo.transpose(a, out), a.T) and same(gmo.transpose(a, "c.npy"), a.T)
    assert sorted(os.listdir()) == ["b", "c.npy"]


def test_several_threads(tmp_path, rng, small):
    """Calls of different files do not disturb each other."""
    arrays = [rng.integers(0, 2**30, (100 + i, 90), "i4") for i in range(4)]
    found = at_once(4, lambda i: gmo.transpose(arrays[i], tmp_path / f"{i}.npy"))
    assert all(same(one, a.T) for one, a in zip(found, arrays, strict=True))


# ---- memory -------------------------------------------------------------------------------------

PEAK = """
    import numpy as np, gpumem.out_of_core as gmo

    def memory(name):
        (line,) = (one for one in open("/proc/self/status") if one.startswith(name + ":"))
        return int(line.split()[1]) << 10

    def grown(call, *arguments, limit):
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # the peak starts over
        before = memory("VmRSS")
        call(*arguments, limit=limit)
        return memory("VmHWM") - before

    {prepare}
    print(grown({call}, limit={limit}))
"""
MOVE = """
    a = np.memmap("a", "{dtype}", "w+", shape={shape})
    for i in range(0, len(a), 256):
        a[i : i + 256] = 1
    del a
    a = np.memmap("a", "{dtype}", "r", shape={shape})
"""


def peak(tmp_path, monkeypatch, prepare, call, limit):
    monkeypatch.chdir(tmp_path)
    found = python(PEAK.format(prepare=prepare.strip(), call=call, limit=limit))
    assert 0 < int(found) <= limit, f"{int(found) / 2**20:.0f} MiB"


@pytest.mark.parametrize(
    ("dtype", "call"),
    [
        ("f4", 'gmo.transpose, a, "b.npy"'),
        ("f4", 'gmo.copy, a, "b.npy"'),
        ("u1", 'gmo.copy, a.T[::2], "b.npy"'),
    ],
)
def test_memory_stays_within_the_limit(dtype, call, tmp_path, monkeypatch):
    """A file of 256 MiB in 32 MiB: buffers, mapped pages and the simulator."""
    shape = (8191, 2**28 // 8192 // np.dtype(dtype).itemsize)
    prepare = MOVE.format(dtype=dtype, shape=shape)
    peak(tmp_path, monkeypatch, prepare, call, 2**25)


def test_memory_of_a_product(tmp_path, monkeypatch):
    prepare = """
    a = np.lib.format.open_memmap("a.npy", "w+", dtype="f4", shape=(600, 4000))
    np.save("b.npy", np.ones((4000, 900), "f4"))
    """
    peak(tmp_path, monkeypatch, prepare, 'gmo.matmul, "a.npy", "b.npy", "c.npy"', 2**25)


def test_gpumem_does_not_import_it():
    found = "[m for m in sys.modules if m.startswith('gpumem.out_of_core')]"
    assert python(f"import sys, gpumem; print({found})") == "[]\n"
