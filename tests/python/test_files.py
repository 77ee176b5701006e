"""Files are written whole, or stay as they were; what goes wrong names the file."""

import errno
import os
import stat
import subprocess
import sys

import pytest

import gpumem as gm
from gpumem import cli
from gpumem.base import files

OLD = "what was there before"


@pytest.fixture
def result():
    return gm.results["copy-h200"]


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(OLD)
    return path


def limited(script):
    """Run a script that limits the size of files: without bytecode, which would be cut short."""
    return subprocess.run([sys.executable, "-B", "-c", script], capture_output=True, text=True)


def test_a_full_disk_leaves_the_old_file(target):
    """The limit of a file's size stands for a disk that is full after 4 KiB."""
    script = f"""
import resource, gpumem as gm
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    gm.results["copy-h200"].to_json({str(target)!r})
except OSError as error:
    print(error)
"""
    done = limited(script)
    assert done.stderr == "" and "File too large" in done.stdout and str(target) in done.stdout
    assert target.read_text() == OLD
    assert os.listdir(target.parent) == ["r.json"]  # nothing is left beside it


def test_a_rename_that_fails_leaves_the_old_file(target, result, monkeypatch):
    def fail(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match=r"Input/output error: '.*r\.json'"):
        result.to_json(target)
    assert target.read_text() == OLD and os.listdir(target.parent) == ["r.json"]


def test_data_are_on_the_disk_before_the_name_is(target, result, monkeypatch):
    done = []
    for name in ("fsync", "replace"):
        true = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda *args, name=name, true=true: (done.append(name), true(*args))[1]
        )
    result.to_json(target)
    assert done == ["fsync", "replace"]


def test_ctrl_c_leaves_the_old_file(target, monkeypatch):
    def stop(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        files.write(target, "new")
    assert target.read_text() == OLD and os.listdir(target.parent) == ["r.json"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_permissions_are_kept(target, mode):
    target.chmod(mode)
    files.write(target, "new")
    assert stat.S_IMODE(target.stat().st_mode) == mode and target.read_text() == "new"


def test_a_new_file_has_the_permissions_of_any(tmp_path):
    (tmp_path / "any").write_text("")
    files.write(tmp_path / "new", b"new")
    modes = {path.stat().st_mode for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_a_symbolic_link_stays_one(target, tmp_path):
    folder = tmp_path / "links"
    folder.mkdir()
    link = folder / "latest.json"
    link.symlink_to(target)
    files.write(link, "new")
    assert link.is_symlink() and target.read_text() == "new"
    gone = folder / "gone.json"
    gone.symlink_to(tmp_path / "not there yet")
    files.write(gone, "new")
    assert gone.is_symlink() and (tmp_path / "not there yet").read_text() == "new"


def test_what_may_not_be_written_to_stays(target, monkeypatch):
    """Root may write anything: the answer to the question is made up."""
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    for path in (target, target.parent / "new.json"):
        with pytest.raises(PermissionError, match=path.name):
            files.check_target(path)
    with pytest.raises(PermissionError, match=r"r\.json"):
        files.write(target, "new")
    assert target.read_text() == OLD


def test_a_mount_point_is_written_to(target, monkeypatch):
    """A single file of the host in a container can be written to and not replaced."""

    def busy(*_):
        raise OSError(errno.EBUSY, "Device or resource busy")

    monkeypatch.setattr(os, "replace", busy)
    files.write(target, "new")
    assert target.read_text() == "new" and os.listdir(target.parent) == ["r.json"]


def test_a_pipe_is_written_to(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE, text=True) as reader:
        files.write(path, "through")
        assert reader.communicate(timeout=60)[0] == "through"
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_devices_are_written_to():
    files.write("/dev/null", "nothing")
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        files.write("/dev/full", "too much")


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_stdout_goes_on_where_it_was(name, tmp_path):
    script = f"from gpumem.base import files\nprint(1)\nfiles.write({name!r}, '2\\n')\nprint(3)"
    with open(tmp_path / "out", "w") as out:
        subprocess.run([sys.executable, "-c", script], stdout=out, check=True, timeout=120)
    assert (tmp_path / "out").read_text() == "1\n2\n3\n"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("missing/r.json", FileNotFoundError),
        ("file/r.json", NotADirectoryError),
        ("folder", IsADirectoryError),
        ("folder/", IsADirectoryError),
    ],
)
def test_where_no_file_can_be(tmp_path, name, kind, capsys):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text(OLD)
    path = f"{tmp_path}/{name}"
    for function in (files.check_target, lambda path: files.write(path, "new")):
        with pytest.raises(kind) as caught:
            function(path)
        assert caught.value.filename == path
    assert cli.main(["bench", "copy", "--sizes", "4K", "-o", path]) == 2
    out, err = capsys.readouterr()
    assert out == "" and len(err.splitlines()) == 1 and path in err
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


def test_pictures_are_written_whole(tmp_path):
    pytest.importorskip("matplotlib")
    paths = [tmp_path / f"picture.{kind}" for kind in ("png", "svg", "pdf")]
    for path in paths:
        path.write_text(OLD)
    commands = [["plot", "copy-h200", "--kind", "size", "-o", str(path)] for path in paths]
    script = f"""
import resource, matplotlib.pyplot
from gpumem import cli
resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
print([cli.main(words) for words in {commands!r}])
"""
    done = limited(script)
    assert done.stdout == "[2, 2, 2]\n"
    assert all(f"{path}: File too large" in done.stderr for path in paths)
    assert [path.read_text() for path in paths] == [OLD] * 3 and len(os.listdir(tmp_path)) == 3
    for words, path in zip(commands, paths, strict=True):
        assert cli.main(words) == 0
        assert path.read_bytes()[:8].lstrip().startswith((b"\x89PNG", b"<?xml", b"%PDF"))
