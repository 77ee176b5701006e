"""Every notebook runs from top to bottom, with shipped results and with live ones."""

from __future__ import annotations

import ast
import copy
import functools
import importlib.util
import json
import os
import re
from pathlib import Path

import pytest

import gpumem as gm

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

PACKAGE_PARENT = Path(gm.__file__).resolve().parent.parent
PYTHONPATH = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]

TIMEOUT_S = 600  # for one cell, and for the start of a kernel

# Startup code of the kernel. It reports figures without axes, axes without data, and texts or lines
# that overlap. It writes to stderr, where the tests allow no output.
WATCH = f"""
import sys
sys.path.append({str(ROOT / "tests")!r})

import figure_checks
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.figure import Figure

draw = Figure.draw
show = FigureCanvasBase.print_figure

def watched(figure, renderer):
    shown = [ax for ax in figure.axes if ax.get_visible() and ax.axison]
    # Axes at the same position are one plot: a twin may hold only the labels on the right.
    with_data = {{ax.get_position().bounds for ax in shown if ax.has_data()}}
    if not shown or not all(ax.get_position().bounds in with_data for ax in shown):
        print("an empty figure", file=sys.stderr)
    return draw(figure, renderer)

def checked(canvas, *arguments, **keywords):
    canvas.figure.draw_without_rendering()
    for complaint in figure_checks.complaints(canvas.figure):
        print(complaint, file=sys.stderr)
    return show(canvas, *arguments, **keywords)

Figure.draw = watched
FigureCanvasBase.print_figure = checked
"""

nbformat = pytest.importorskip("nbformat", reason="notebooks need nbformat (the extra notebooks)")


def load_tool():
    specification = importlib.util.spec_from_file_location("notebooks", ROOT / "tools/notebooks.py")
    tool = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(tool)
    return tool


TOOL = load_tool()


@pytest.fixture(scope="module")
def execute(tmp_path_factory):
    """Return a function that runs a notebook in its own kernel and returns it with its outputs."""
    nbclient = pytest.importorskip(
        "nbclient", reason="notebooks need nbclient (the extra notebooks)"
    )
    pytest.importorskip("ipykernel", reason="notebooks need ipykernel (the extra notebooks)")
    pytest.importorskip("matplotlib", reason="notebooks need matplotlib (the extra notebooks)")

    def run(notebook, backend, *, made_up=False):
        folder = tmp_path_factory.mktemp("notebook")
        startup = folder / "ipython/profile_default/startup"
        startup.mkdir(parents=True)
        (startup / "watch.py").write_text(WATCH, encoding="utf-8")
        if made_up:
            code = f"import sys\nsys.path.insert(0, {str(ROOT / 'tests')!r})\n"
            code += "import made_up\nmade_up.install()\n"
            (startup / "made_up_device.py").write_text(code, encoding="utf-8")
        environment = {
            **os.environ,
            "IPYTHONDIR": str(folder / "ipython"),
            "GPUMEM_BACKEND": backend,
            "GPUMEM_NOTEBOOK_QUICK": "1",
            # The kernel imports the same gpumem as these tests, whatever its working directory.
            "PYTHONPATH": os.pathsep.join(map(os.path.abspath, [PACKAGE_PARENT, *PYTHONPATH])),
        }
        environment.pop("MPLBACKEND", None)
        client = nbclient.NotebookClient(
            notebook,
            timeout=TIMEOUT_S,
            startup_timeout=TIMEOUT_S,
            kernel_name="python3",
            resources={"metadata": {"path": str(FOLDER)}},
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("JUPYTER_RUNTIME_DIR", str(folder / "runtime"))
            client.execute(env=environment)
        return notebook

    return run


# Code at the end of a notebook; a test looks at what it prints.
QUESTIONS = {
    "03-memory-spaces": (
        "print({line.get_label(): [*map(float, line.get_xdata())] for line in ax.lines})"
    ),
    "08-your-gpu": (
        "print({t.get_text(): float(bar.get_width()) "
        "for t, bar in zip(ax.get_yticklabels(), ax.patches)})"
    ),
}


@pytest.fixture(scope="module")
def executed(execute):
    """Return a function that runs a notebook once for all tests, with its question at the end.

    On the simulator it also runs what the notebook suggests to try: a GPU would measure that, which
    takes long. Returns the notebook and the outputs of the question.
    """

    @functools.cache
    def run(stem, backend):
        notebook = nbformat.read(FOLDER / f"{stem}.ipynb", as_version=4)
        calls = suggestions(notebook) if backend == "sim" else []
        asked = len(notebook.cells)
        codes = [QUESTIONS.get(stem, "pass"), *(f"_ = {call}" for call in calls)]
        notebook.cells += [nbformat.v4.new_code_cell(code) for code in codes]
        made = TOOL.made_of(FOLDER / f"{stem}.ipynb")
        done = execute(notebook, backend)
        if backend == "sim":  # for the site
            shown = copy.deepcopy(done)
            shown.cells = shown.cells[:asked]
            TOOL.keep(FOLDER / f"{stem}.ipynb", shown, made)
        return done, done.cells[asked].outputs

    return run


def outputs(notebook):
    return [one for cell in notebook.cells if cell.cell_type == "code" for one in cell.outputs]


def complaints(notebook):
    return [one.text for one in outputs(notebook) if one.get("name") == "stderr"]


def pictures(notebook):
    return [one for one in outputs(notebook) if "image/png" in one.get("data", ())]


def texts(notebook):
    found = [one["data"] for one in outputs(notebook) if "data" in one]
    return "\n".join(str(data["text/markdown"]) for data in found if "text/markdown" in data)


def test_readme_links_to_every_notebook():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"\(notebooks/([^)]*\.ipynb)\)", text)
    assert NOTEBOOKS and named == [path.name for path in NOTEBOOKS]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_targets_of_links_exist(path):
    cells = nbformat.read(path, as_version=4).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    for target in re.findall(r"\]\(([^)]*)\)", text):
        assert "://" in target or (FOLDER / target).exists(), target


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_committed_without_outputs(path):
    text = path.read_text(encoding="utf-8")
    assert TOOL.normal(text) == text, "run tools/notebooks.py"


def sections(path):
    """Return {heading: cells of its section} of a notebook, in order."""
    found = {}
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown" and cell.source.startswith("#"):
            heading = cell.source.partition("\n")[0].lstrip("# ")
        found.setdefault(heading, []).append(cell)
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_heading_is_the_first_line_of_its_cell(path):
    """Otherwise a cell that is added or moved can end up in another section."""
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            below = cell.source.partition("\n")[2]
            assert not re.search(r"^#+ ", below, re.MULTILINE), cell.source


def test_sections_of_the_access_notebook_measure_their_own_family():
    """The code that measures a family is in the section about that family."""
    found = sections(FOLDER / "02-access.ipynb")
    wanted = {
        "Arbitrary addresses": "gather",
        "Writing": "strided_write",
        "Fields of structures": "shift_points",
    }
    assert [heading for heading in found if heading in wanted] == list(wanted)
    for heading, cells in found.items():
        code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
        used = {family for family in wanted.values() if f'"{family}' in code}
        assert used == ({wanted[heading]} if heading in wanted else set()), heading


def test_tool_clears_outputs_and_keeps_ids():
    """It removes outputs, counts, editors' metadata and empty cells; it makes ids unique."""
    cells = [
        {"cell_type": "code", "id": "sum", "source": ["1 + 1  \n"], "execution_count": 3}
        | {"metadata": {}, "outputs": [{"output_type": "stream", "name": "stdout", "text": "2"}]},
        {"cell_type": "code", "id": "sum", "source": "2 + 2", "metadata": {"editor": "mine"}},
        {"cell_type": "markdown", "id": "words", "source": "words", "metadata": {}},
        {"cell_type": "code", "id": "empty", "source": [], "metadata": {}, "outputs": []},
    ]
    metadata = {"language_info": {"name": "python", "version": "3"}, "colab": {}}
    given = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4}
    text = TOOL.normal(json.dumps(given))
    kept = nbformat.reads(text, as_version=4)
    assert [cell.id for cell in kept.cells] == ["sum", "cell-1", "words"]
    assert [cell.source for cell in kept.cells] == ["1 + 1", "2 + 2", "words"]
    assert all(not cell.metadata for cell in kept.cells)
    assert kept.cells[0].outputs == [] and kept.cells[0].execution_count is None
    assert "version" not in kept.metadata.language_info and "colab" not in kept.metadata
    assert TOOL.normal(text) == text


@pytest.mark.parametrize("text", ["[]", "{}", '{"nbformat": 3, "worksheets": []}', "words"])
def test_tool_rejects_other_json_and_text(text):
    with pytest.raises(ValueError):
        TOOL.normal(text)


def suggestions(notebook):
    """Return the calls that the last section of a notebook suggests."""
    found = [cell.source for cell in notebook.cells if "## Try yourself" in cell.source]
    (text,) = [source.split("## Try yourself")[1] for source in found]
    return re.findall(r"`([a-z_.]+\([^`]*\))`", text)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(path, executed, backend):
    assert suggestions(nbformat.read(path, as_version=4))
    done, _ = executed(path.stem, backend)
    assert not complaints(done)
    assert pictures(done), "it shows nothing"
    text = texts(done)
    if backend == "cuda":
        assert "Measured just now" in text and "Shipped figures" not in text
    else:
        assert ("Shipped figures" in text) == bool(shipped_results(path))
        assert ("No times here" in text) != bool(shipped_results(path))
        assert "Measured just now" not in text


def shipped_results(path):
    """Return the shipped results that a notebook shows."""
    named = re.findall(r'"([\w.]+-h200)"', path.read_text(encoding="utf-8").replace("\\", ""))
    assert named
    return [name for name in named if name in gm.results]


def printed(stem, executed):
    """Return what the question of a notebook prints on shipped results."""
    _, outputs = executed(stem, "sim")
    return ast.literal_eval(outputs[-1].text)


def test_local_memory_is_drawn_with_more_sectors_than_global(executed):
    """Local memory takes four sectors per load of a coefficient, plus the stores of the array.

    Global memory takes one sector per load, since all lanes read the same address.
    """
    drawn = printed("03-memory-spaces", executed)
    (local,) = next(counts for label, counts in drawn.items() if label.startswith("local"))
    uniform = max(next(counts for label, counts in drawn.items() if "global" in label))
    assert local > 4 * uniform


def test_the_bar_of_a_family_is_labelled_with_its_size(executed):
    """The bar shows the largest size: a small input fits in the L2 cache and is twice as fast."""
    drawn = printed("08-your-gpu", executed)
    assert len(drawn) > 8
    assert all(re.match(r"\w+, \d+( [KMG]iB|(x\d+)+)(, |$)", label) for label in drawn), drawn
    (gather,) = (width for label, width in drawn.items() if label.startswith("gather, 256 MiB"))
    shipped = gm.results.load("gather-h200")
    (rate,) = (
        one["gbps"]
        for one in shipped.records
        if (one["variant"], one["shape"]) == ("auto", [2**26])
    )
    assert gather == pytest.approx(100 * rate / shipped.provenance["device"]["bandwidth_gbps"])


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_for_a_gpu_run_on_a_made_up_device(path, execute):
    """The code path for a GPU runs without one; its numbers mean nothing."""
    given = nbformat.read(path, as_version=4)
    given.cells += [nbformat.v4.new_code_cell(f"_ = {call}") for call in suggestions(given)]
    done = execute(given, "sim", made_up=True)
    # Wall-clock times are real, so two variants may be equally fast and their lines coincide.
    lines = "".join(complaints(done)).splitlines()
    assert not [line for line in lines if not line.endswith("lie on each other")]
    assert pictures(done)
    text = texts(done)
    assert "Measured just now:** made-up device" in text and "Shipped figures" not in text


def test_bad_figures_and_warnings_are_reported(execute):
    """The checks that test_runs relies on report each of these faults, and no correct figure."""
    cases = [
        ("pyplot.subplots();", "an empty figure"),
        ("pyplot.figure();", "an empty figure"),
        ("_, axes = pyplot.subplots(1, 2, sharey=True)\naxes[0].plot([1, 2]);", "an empty figure"),
        ("_, ax = pyplot.subplots()\nax.plot([1, 2])\nax.twinx();", None),
        (
            "_, ax = pyplot.subplots()\nax.plot([1, 2])\n"
            "ax.text(0.5, 1.5, 'one'), ax.text(0.5, 1.5, 'two');",
            "'one' and 'two' overlap",
        ),
        (
            "_, ax = pyplot.subplots()\nax.plot([1, 2])\n"
            "ax.annotate('a point', (0.5, 1.5), ha='center');",
            "'a point' is crossed",
        ),
        (
            "_, ax = pyplot.subplots()\nax.plot([1, 2])\nax.set_xlabel('nearly ' * 30);",
            "is cut off",
        ),
        (
            "_, ax = pyplot.subplots()\nax.plot([1, 2], label='red', color='red')\n"
            "ax.plot([2, 1], label='blue', color='blue');",
            "'red' and 'blue' look alike",
        ),
        (
            "_, ax = pyplot.subplots()\nax.plot([1, 2], 'o-', label='below')\n"
            "ax.plot([1, 2], 's--', label='above');",
            "'below' and 'above' lie on each other",
        ),
        ("import warnings\nwarnings.warn('old')", "old"),
        ("pyplot.plot([1, 2]);", None),
    ]
    code = [f"from matplotlib import pyplot\n{source}" for source, _ in cases]
    cells = [nbformat.v4.new_code_cell(one) for one in code]
    done = execute(nbformat.v4.new_notebook(cells=cells), "sim")
    for cell, (_, complaint) in zip(done.cells, cases, strict=True):
        alone = nbformat.v4.new_notebook(cells=[cell])
        if complaint is None:
            assert not complaints(alone) and pictures(alone)
        else:
            assert complaint in "".join(complaints(alone))


def test_an_error_in_a_cell_is_raised(execute):
    from nbclient.exceptions import CellExecutionError

    given = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")])
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        execute(given, "sim")
