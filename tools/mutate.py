"""Plants small faults in kernels and C code, one at a time, and says which the tests find.

``tools/mutate.py --seed 1 --count 200`` draws 200 faults (mutations.py): half of them in kernels,
half in the rest of csrc. Each is planted in a copy of the checkout, build/mutants; the objects that
contain it are compiled, and the tests that can see it run (mutation_tests.py) until one fails. The
fate of a mutant is one of

- ``killed``: a test has failed, the process has ended, or it has not ended in time;
- ``survived``: all tests passed;
- ``same code``: the compiler makes the same machine code of it, so that it is no fault;
- ``equivalent``: equivalent_mutants.json says why no test can fail;
- ``does not compile``.

build/mutants.jsonl keeps the fates: a run that was stopped goes on, ``--again survived`` tries all
of those again, as after a run with ``--quick``, and ``--table`` prints all. The same seed draws the
same mutants of the same sources.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import hashlib
import importlib.util
import json
import os
import random
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import mutation_tests
import private_copy
from mutations import OPERATORS, Mutation, mutations

ROOT = private_copy.ROOT
RESULTS = ROOT / "build" / "mutants.jsonl"
KNOWN = Path(__file__).with_name("equivalent_mutants.json")
FATES = ("killed", "survived", "same code", "equivalent", "does not compile")
# Seconds after which a run of tests hangs in which no test has ended.
HANGS, LONG_HANGS = 30, 400
FOUND_LATELY = 12  # how many tests that found other faults come before all others
LONG = ("test_fake_cuda", "test_allocation_faults", "test_forks")  # each test runs hundreds


class Mutant(NamedTuple):
    path: str
    mutation: Mutation
    text: str  # of the file, without the fault

    @property
    def key(self) -> str:
        """A name that stays the same while the file does."""
        digest = hashlib.sha256(self.text.encode()).hexdigest()[:12]
        return f"{self.path}:{digest}:{self.mutation.start}:{self.mutation.operator}"

    def record(self) -> dict[str, Any]:
        before, after = self.mutation.lines(self.text)
        return {
            "key": self.key,
            "path": self.path,
            "line": self.mutation.line(self.text),
            "operator": self.mutation.operator,
            "from": before,
            "to": after,
        }


# ---- which mutants -------------------------------------------------------------------------------


def all_mutants(root: Path, patterns: Sequence[str] = ()) -> list[Mutant]:
    """Every mutant of the files that fit one of the patterns; of all files without one."""
    found = []
    for path in mutation_tests.sources(root):
        if patterns and not any(Path(path).match(one) for one in patterns):
            continue
        text = (root / path).read_text(encoding="utf-8")
        found += [Mutant(path, mutation, text) for mutation in mutations(text)]
    return found


def draw(mutants: Sequence[Mutant], seed: int, count: int) -> list[Mutant]:
    """So many mutants: kernels and other files in turn, each operator as often as the others."""
    groups: dict[bool, dict[str, list[Mutant]]] = {}
    for one in mutants:
        group = groups.setdefault("/kernels/" in one.path, {})
        group.setdefault(one.mutation.operator, []).append(one)
    chance, drawn = random.Random(seed), []
    order = sorted(groups, reverse=True)
    while len(drawn) < count and any(groups.values()):
        group = groups[order[0]]
        order.append(order.pop(0))
        if not group:
            continue
        left = group[chance.choice(sorted(group))]
        drawn.append(left.pop(chance.randrange(len(left))))
        operator = drawn[-1].mutation.operator
        if not left:
            del group[operator]
    return drawn


def why_equivalent(record: dict[str, Any]) -> str | None:
    """What equivalent_mutants.json says of this change of this line."""
    for one in json.loads(KNOWN.read_text()):
        if all(record[name] == one[name] for name in ("path", "from", "to")):
            return one["why"]
    return None


# ---- a build with the mutant ---------------------------------------------------------------------


class Copy:
    """The copy of the checkout, with its objects as they are without a fault."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = _own_cache(folder)
        self.tools = self._load("csrc/build.py", "mutants_build")
        tests = self._load("tests/building.py", "mutants_building")
        kernels = [folder / "csrc" / "kernels"]
        compilers = self.tools.host_compiler("CC"), self.tools.host_compiler("CXX")
        self.jobs = self.tools.jobs_for(folder, kernels, *compilers, None)
        self.assembler = compilers[1].command
        toolkit = tests.find_cuda_headers()
        self.cuda_jobs = []  # of files that only the fake device runs
        if not isinstance(toolkit, str):
            jobs = tests.jobs_on_fake_cuda(dataclasses.replace(toolkit, archs=("90a",)))
            own = {job.source for job in self.jobs}
            self.cuda_jobs = [job for job in jobs if job.source not in own]
        self.objects = self._compile()
        self.build()

    def _load(self, name: str, module: str) -> ModuleType:
        specification = importlib.util.spec_from_file_location(module, self.folder / name)
        loaded = importlib.util.module_from_spec(specification)
        sys.modules[module] = loaded
        specification.loader.exec_module(loaded)
        return loaded

    def _compile(self) -> list[Path]:
        builder = self.tools.Builder(self.folder, self.cache, self.assembler, lambda text: None)
        return builder.objects([*self.jobs, *self.cuda_jobs])

    def build(self) -> None:
        done = private_copy.build(self.folder)
        if done.returncode:
            raise self.tools.BuildError(done.stdout)

    @contextlib.contextmanager
    def planted(self, mutant: Mutant) -> Iterator[str | None]:
        """Build with the mutant and give its fate if that is known without a test."""
        path = self.folder / mutant.path
        before = set(self.cache.iterdir())
        _write(path, mutant.mutation.apply(mutant.text))
        try:
            yield self._built()
        finally:
            _write(path, mutant.text)
            self.build()
            for one in set(self.cache.iterdir()) - before:
                if one.is_file():
                    one.unlink()

    def _built(self) -> str | None:
        try:
            objects = self._compile()
        except self.tools.BuildError:
            return "does not compile"
        pairs = zip(self.objects, objects, strict=True)
        if all(one == two or one.read_bytes() == two.read_bytes() for one, two in pairs):
            return "same code"
        self.build()
        return None


def _own_cache(folder: Path) -> Path:
    """Give the copy a cache that no other build uses, with links to the objects there are."""
    shared, own = ROOT / "build" / "cache", folder / "build" / "cache"
    if own.is_symlink():
        own.unlink()
    own.mkdir(exist_ok=True)
    for one in shared.iterdir():
        if one.is_file() and not (own / one.name).exists():
            with contextlib.suppress(FileNotFoundError):  # another build has removed it
                os.link(one, own / one.name)
    return own


def _write(path: Path, text: str) -> None:
    """Write a file as if a minute ago: the build keeps objects of files that no longer change."""
    path.write_text(text, encoding="utf-8")
    past = time.time() - 60
    os.utime(path, (past, past))


# ---- a run of tests ------------------------------------------------------------------------------


class Outcome(NamedTuple):
    failed: str = ""  # what shows the fault; "" if nothing does
    test: str = ""  # the test that ran then, where one did


def _in_child(folder: Path, words: Sequence[str], log: Path) -> None:
    """Run pytest in this process, a fork, and end it."""
    os.setsid()
    sys.stdout = sys.stderr = open(log, "w", buffering=1)
    for descriptor in (1, 2):
        os.dup2(sys.stdout.fileno(), descriptor)
    os.chdir(folder)
    environment = private_copy.environment_of(folder, GPUMEM_JOBS="1")
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = [str(folder), *(p for p in sys.path if Path(p).resolve() != ROOT / "tools")]
    for name in ("mutants_build", "mutants_building"):
        sys.modules.pop(name, None)
    import pytest

    always = ["-v", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=short"]
    status = 70
    try:
        status = int(pytest.main([*always, *words]))
    finally:
        os._exit(status)


def run_tests(folder: Path, words: Sequence[str]) -> Outcome:
    """Run pytest with these words; a fork of this process, which has imported what takes long."""
    import hypothesis  # noqa: F401
    import numpy  # noqa: F401
    import pytest  # noqa: F401

    log = folder / "build" / "tests.log"
    log.write_text("")
    child = os.fork()
    if child == 0:
        _in_child(folder, words, log)
    ended = status = size = 0
    changed = time.monotonic()
    limit = LONG_HANGS if any(one in word for one in LONG for word in words) else HANGS
    while not ended and time.monotonic() - changed < limit:
        time.sleep(0.05)
        ended, status = os.waitpid(child, os.WNOHANG)
        if log.stat().st_size > size:
            size, changed = log.stat().st_size, time.monotonic()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # a hang, or what a test has left running
    text = log.read_text(errors="replace")
    if not ended:
        os.waitpid(child, 0)
        return _outcome(f"no end after {limit} s", text)
    if os.WIFSIGNALED(status):
        return _outcome(signal.Signals(os.WTERMSIG(status)).name, text)
    status = os.WEXITSTATUS(status)
    return (
        _outcome(f"exit status {status}" if status > 1 else "failed", text) if status else Outcome()
    )


def _outcome(how: str, log: str) -> Outcome:
    """What has failed, and in which test: the last that pytest has begun."""
    begun = re.findall(
        r"^(tests/\S+\.py::.+?)(?= (?:PASSED|FAILED|SKIPPED|ERROR|Fatal)|\s*$)", log, re.M
    )
    named = re.findall(r"^(?:FAILED|ERROR) (tests/\S+.*?)(?: - |$)", log, re.M)
    test = (named or begun[-1:] or [""])[0]
    return Outcome(f"{how}: {test or log[-200:]}", test)


class Runner:
    """Runs the tests of a file. Tests that fail without a fault, too, are left out."""

    def __init__(
        self, folder: Path, quick: bool = False, test: Callable[..., Outcome] = run_tests
    ) -> None:
        self.folder, self.quick, self.test = folder, quick, test
        self.sound: set[str] = set()
        self.left_out: list[str] = []
        self.found: dict[str, dict[str, None]] = {}  # tests that have found faults, by folder

    def runs(self, path: str) -> list[tuple[str, ...]]:
        """The runs for a file: first the tests that have found faults in its neighbours."""
        runs = mutation_tests.selection(path)
        runs = runs[: mutation_tests.quick(path)] if self.quick else runs
        found = [
            one for one in self.found.get(str(Path(path).parent), ()) if one not in self.left_out
        ]
        return [tuple(found[-FOUND_LATELY:]), *runs] if found else runs

    def outcome(self, path: str) -> Outcome:
        """The outcome of the first run that fails; an empty one if none does."""
        left_out = [word for one in self.left_out for word in ("--deselect", one)]
        for words in self.runs(path):
            outcome = self.test(self.folder, [*words, *left_out])
            # A test of an earlier run may be gone, which pytest takes for an error.
            gone = not outcome.test and "::" in words[0]
            if outcome.failed and not gone:
                return outcome
        return Outcome()

    def remember(self, path: str, test: str) -> None:
        """Remember a test that has found a fault in a file, as the latest of its folder."""
        found = self.found.setdefault(str(Path(path).parent), {})
        found.pop(test, None)
        if "::" in test:
            found[test] = None

    def is_sound(self, outcome: Outcome, path: str) -> bool:
        """Whether what has failed passes without the fault; call it without one."""
        words = (outcome.test,) if outcome.test else mutation_tests.selection(path)[0]
        if "\0".join(words) in self.sound:
            return True
        alone = self.test(self.folder, words)
        if not alone.failed:
            self.sound.add("\0".join(words))
            return True
        if not outcome.test or outcome.test in self.left_out:
            raise SystemExit(f"without any fault: {' '.join(words)}: {alone.failed}")
        self.left_out.append(outcome.test)
        print(f"left out, since it fails without a fault: {alone.failed}", flush=True)
        return False


# ---- results -------------------------------------------------------------------------------------


def load_results(path: Path) -> dict[str, dict[str, Any]]:
    """The latest result of each mutant."""
    if not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    return {row["key"]: row for row in rows}


def summary(rows: Sequence[dict[str, Any]]) -> str:
    """A table of fates, by operator, and the share of the faults that tests have found."""
    lines = [f"{'':<20}" + "".join(f"{fate:>18}" for fate in FATES)]
    for name in (*OPERATORS, ""):
        of = [row["fate"] for row in rows if row["operator"].startswith(name)]
        cells = [of.count(fate) for fate in FATES]
        if any(cells):
            lines.append(f"{name or 'all':<20}" + "".join(f"{cell:>18}" for cell in cells))
    killed, survived = (sum(row["fate"] == fate for row in rows) for fate in FATES[:2])
    if killed + survived:
        share = 100 * killed / (killed + survived)
        lines.append(f"{killed} of {killed + survived} faults found: {share:.1f} %")
    return "\n".join(lines)


def shown(row: dict[str, Any]) -> str:
    place = f"{row['path']}:{row['line']}"
    return f"{row['fate']:<17} {place} {row['operator']}\n  - {row['from']}\n  + {row['to']}" + (
        f"\n  {row['detail']}" if row["detail"] else ""
    )


def try_all(
    mutants: Sequence[Mutant],
    results: Path,
    again: Sequence[str] = (),
    name: str = "mutants",
    quick: bool = False,
) -> list[dict[str, Any]]:
    """Try mutants that have no result yet in build/NAME; return the results of all.

    Each test runs in a fork of this process.
    """
    if "gpumem" in sys.modules:  # a fork would test the module that this process has loaded
        raise RuntimeError("gpumem is loaded: try mutants in a process that has not imported it")
    known = load_results(results)
    rows, copy = [], None
    runner = Runner(ROOT / "build" / name, quick)
    for row in known.values():
        runner.remember(row["path"], row["test"])
    for at, mutant in enumerate(mutants):
        row = known.get(mutant.key)
        if row is None or row["fate"] in again:
            row, started = mutant.record(), time.monotonic()
            why = why_equivalent(row)
            row["fate"], row["detail"], row["test"] = "equivalent", why or "", ""
            if why is None:
                copy = copy or Copy(private_copy.copy_checkout(name))
                row["fate"], outcome = fate_of(mutant, copy, runner)
                row["detail"], row["test"] = outcome.failed, outcome.test
                runner.remember(mutant.path, outcome.test)
            row["seconds"] = round(time.monotonic() - started, 1)
            with open(results, "a") as file:
                file.write(json.dumps(row) + "\n")
            print(f"[{at + 1}/{len(mutants)}, {row['seconds']} s] {shown(row)}", flush=True)
        rows.append(row)
    return rows


def fate_of(mutant: Mutant, copy: Copy, runner: Runner) -> tuple[str, Outcome]:
    """Plant a mutant and try it."""
    while True:
        with copy.planted(mutant) as fate:
            if fate:
                return fate, Outcome()
            outcome = runner.outcome(mutant.path)
        if not outcome.failed:
            return "survived", outcome
        if runner.is_sound(outcome, mutant.path):
            return "killed", outcome


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="which mutants are drawn")
    parser.add_argument("--count", type=int, default=100, help="how many")
    parser.add_argument("--files", nargs="+", default=(), metavar="PATTERN", help="of these alone")
    parser.add_argument("--list", action="store_true", help="print what is drawn; run nothing")
    parser.add_argument("--table", action="store_true", help="print the results there are")
    parser.add_argument("--quick", action="store_true", help="run the quick tests alone")
    parser.add_argument("--again", nargs="+", default=(), choices=FATES, help="try these again")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FILE")
    given = parser.parse_args(words)
    if given.table:
        rows = list(load_results(given.results).values())
        print("\n".join(map(shown, rows)))
        print(summary(rows))
        return 0
    mutants = all_mutants(ROOT, given.files)
    if given.again:
        known = load_results(given.results)
        drawn = [one for one in mutants if known.get(one.key, {}).get("fate") in given.again]
    else:
        drawn = draw(mutants, given.seed, given.count)
    if not drawn:
        parser.error(f"no mutants in files such as {' '.join(given.files)}")
    if given.list:
        print("\n".join(shown({**one.record(), "fate": "", "detail": ""}) for one in drawn))
        return 0
    given.results.parent.mkdir(parents=True, exist_ok=True)
    rows = try_all(drawn, given.results, given.again, quick=given.quick)
    print(summary(rows))
    return int(any(row["fate"] == "survived" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
