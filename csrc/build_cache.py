"""Compiles files in parallel and caches the objects.

The name of a cached object is a hash of the command, the compiler and the contents of all files
that the compiler read; an object that exists is not compiled again. Concurrent builds can share
a cache: each works in its own folder and renames finished files into place. A digest is stored
beside each object, so that a truncated one is compiled again.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import fcntl
import hashlib
import os
import re
import shlex
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import build_sites
from build_toolchain import BuildError, run

KEEP_SECONDS = 14 * 24 * 3600  # how long unused files stay in the cache
WORK_PREFIX = "making-"


@dataclass
class Job:
    """One source file and how to compile it; the builder adds the output options."""

    source: str  # relative to the root if it is inside
    how: str  # "c", "plain", "traced" or "nvcc"
    command: list[str]
    identity: str  # of the compiler and of the headers in `system`, for the cache key
    system: list[str] = field(default_factory=list)  # include folders, not in the cache key


@dataclass
class Builder:
    """Runs jobs in parallel and stores their objects in a cache folder."""

    root: Path
    cache: Path
    assembler: Sequence[str] = ()
    announce: Callable[[str], None] = print
    progress: Callable[[int, int], None] = lambda done, of: None
    compiled: list[str] = field(default_factory=list)  # the jobs that were not in the cache
    _hashes: dict[str, str] = field(default_factory=dict)

    def objects(self, jobs: Sequence[Job]) -> list[Path]:
        """Return the objects of all jobs; raise BuildError with the messages of failed ones."""
        self.cache.mkdir(parents=True, exist_ok=True)
        done, lock = 0, threading.Lock()

        def finished(future: concurrent.futures.Future[Path]) -> None:
            nonlocal done
            if not future.cancelled() and not future.exception():
                with lock:
                    done += 1
                    self.progress(done, len(jobs))

        with self.work_folder() as work, concurrent.futures.ThreadPoolExecutor(job_count()) as pool:
            futures = [pool.submit(self.object, job, work) for job in jobs]
            for future in futures:
                future.add_done_callback(finished)
            try:
                concurrent.futures.wait(futures, return_when="FIRST_EXCEPTION")
            finally:
                pool.shutdown(cancel_futures=True)
        failures = [str(f.exception()) for f in futures if not f.cancelled() and f.exception()]
        if failures:
            raise BuildError("\n".join(failures))
        return [future.result() for future in futures]

    @contextlib.contextmanager
    def work_folder(self) -> Iterator[Path]:
        """A folder for unfinished files; its lock shows other builds that this one still runs."""
        with tempfile.TemporaryDirectory(dir=self.cache, prefix=WORK_PREFIX) as folder:
            held = os.open(folder, os.O_RDONLY)
            try:
                fcntl.flock(held, fcntl.LOCK_EX)
                yield Path(folder)
            finally:
                os.close(held)

    def object(self, job: Job, work: Path) -> Path:
        """Return the job's object file, from the cache if none of its inputs has changed."""
        # Objects do not contain the path of the root, so the cache key leaves it out too.
        words = [word.replace(str(self.root), ".") for word in job.command]
        key = digest([job.identity, *words])
        stem = f"{'-'.join(Path(job.source).parts[-2:])}-{job.how}-{key}"
        manifest = self.cache / f"{stem}.files"
        if manifest.exists():
            known = self.name(stem, manifest.read_text().splitlines())
            if known and is_whole(known):
                return known
        self.compiled.append(f"{job.how} {job.source}")
        started = time.time()
        with tempfile.TemporaryDirectory(dir=work) as folder:
            made, files = self.compile(job, Path(folder))
            # If a file changed during the compilation, its hash may not match what was compiled.
            # The object then gets a name that no later build looks up.
            settled = all((self.root / file).stat().st_mtime < started - 0.05 for file in files)
            known = self.name(stem, files) if settled else None
            known = known or self.cache / f"{stem}-{time.time_ns():x}.o"
            written = Path(folder, "files")
            written.write_text("\n".join(files))
            keep(made, known)
            os.replace(written, manifest)
        return known

    def compile(self, job: Job, folder: Path) -> tuple[Path, list[str]]:
        """Run the compiler; return the object, in `folder`, and the files that it was made from."""
        made, depfile = folder / "out.o", folder / "out.d"
        target = ["-MMD", "-MF", str(depfile)]
        if job.how == "traced":
            text = folder / "out.s"
            self.call([*job.command, *target, "-S", "-o", str(text)])
            # Clang writes the bytes of strings unescaped, which need not be valid UTF-8.
            as_bytes = {"encoding": "utf-8", "errors": "surrogateescape"}
            assembly = build_sites.tabulate_accesses(text.read_text(**as_bytes), self.root)
            text.write_text(assembly, **as_bytes)
            self.call([*self.assembler, "-c", str(text), "-o", str(made)])
        else:
            system = [word for path in job.system for word in ("-isystem", path)]
            self.call([*job.command, *system, *target, "-c", "-o", str(made)])
        files = read_depfile(depfile.read_text())
        return made, files + ([build_sites.__file__] if job.how == "traced" else [])

    def name(self, stem: str, files: Iterable[str]) -> Path | None:
        """Path of the object for the present contents of these files; None if one is missing."""
        try:
            contents = [self._hash(file) for file in files]
        except OSError:
            return None
        return self.cache / f"{stem}-{digest(contents)}.o"

    def _hash(self, file: str) -> str:
        if file not in self._hashes:
            self._hashes[file] = hash_of(self.root / file)
        return self._hashes[file]

    def call(self, command: Sequence[str]) -> None:
        """Run a command: announce its output, or raise BuildError if it fails."""
        done = run(command, cwd=self.root)
        said = (done.stdout + done.stderr).strip()
        if done.returncode:
            raise BuildError(f"gpumem: this command failed:\n{shlex.join(command)}\n{said}")
        if said:
            self.announce(said)

    def link(
        self, driver: Sequence[str], objects: Sequence[Path], libraries: Sequence[str], output: Path
    ) -> None:
        """Link, unless the cache has the result, and put the module into place atomically."""
        linked = self.cache / f"{output.name}-{digest([*driver, *map(str, objects), *libraries])}"
        if not is_whole(linked):
            with self.work_folder() as folder:
                made = folder / output.name
                listed = folder / "objects"  # may be too many for a command line
                listed.write_text("\n".join(shlex.quote(str(path)) for path in objects))
                self.call([*driver, f"@{listed}", *libraries, "-o", str(made)])
                keep(made, linked)
        # A module that a process has loaded must not be overwritten: copy beside it, then rename.
        output.parent.mkdir(parents=True, exist_ok=True)
        beside = output.with_name(f".{output.name}.{os.getpid()}")
        try:
            shutil.copy2(linked, beside)
            os.replace(beside, output)
        finally:
            beside.unlink(missing_ok=True)

    def prune(self) -> None:
        """Remove objects that no build has used for KEEP_SECONDS, and folders of killed builds."""
        oldest = time.time() - KEEP_SECONDS
        for path in self.cache.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another build has removed it
                if path.is_dir():
                    remove_if_abandoned(path)
                elif path.suffix != ".files" and path.stat().st_mtime < oldest:
                    path.unlink()


# ---- files in the cache ---------------------------------------------------------------------


def digest(words: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]


def hash_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def digest_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def keep(made: Path, known: Path) -> None:
    """Move a finished file into the cache and write its digest beside it."""
    written = made.with_name("sha256")
    written.write_text(hash_of(made))
    os.replace(made, known)
    os.replace(written, digest_file(known))


def is_whole(known: Path) -> bool:
    """Whether the file is in the cache and matches its digest; also marks it as used."""
    try:
        whole = digest_file(known).read_text() == hash_of(known)
        os.utime(known)
        os.utime(digest_file(known))
    except OSError:
        return False
    return whole


def remove_if_abandoned(folder: Path) -> None:
    """Remove a work folder whose build has ended: the lock is released with its process."""
    if not folder.name.startswith(WORK_PREFIX):
        return
    if time.time() - folder.stat().st_mtime < 60:  # it may be created but not locked yet
        return
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        pass
    finally:
        os.close(held)


def read_depfile(text: str) -> list[str]:
    """The prerequisites of the make rule that -MMD writes."""
    words = re.findall(r"(?:\\.|[^\s\\])+", text.replace("\\\n", " ").split(": ", 1)[-1])
    return sorted({re.sub(r"\\(.)", r"\1", word).replace("$$", "$") for word in words})


def job_count(environment: Mapping[str, str] = os.environ) -> int:
    """GPUMEM_JOBS, else -j of the calling make, else the number of available processors."""
    text = environment.get("GPUMEM_JOBS", "").strip()
    if text and not re.fullmatch(r"[1-9]\d*", text):
        raise BuildError(f"gpumem: GPUMEM_JOBS is {text!r}; it should be a number from 1")
    make = re.search(r"(?:^|\s)-j(\d+)", environment.get("MAKEFLAGS", ""))
    if text or make:
        return int(text or make[1])
    return len(os.sched_getaffinity(0))
