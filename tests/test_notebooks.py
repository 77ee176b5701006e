"""Every notebook runs from top to bottom, on shipped results and on live ones."""

from __future__ import annotations

import ast
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

HERE = Path(gm.__file__).resolve().parent.parent
WAYS = [way for way in os.environ.get("PYTHONPATH", "").split(os.pathsep) if way]

SECONDS = 600  # a cell that takes longer hangs

# Runs in the kernel before the notebook. It reports on stderr, which no notebook may write to,
# figures without axes, axes that show nothing, and texts or lines that overlap.
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
    # Axes at one place are one plot: some hold only the numbers at its right.
    told = {{ax.get_position().bounds for ax in shown if ax.has_data()}}
    if not shown or not all(ax.get_position().bounds in told for ax in shown):
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

nbformat = pytest.importorskip("nbformat", reason="notebooks need nbformat (gpumem[notebooks])")


def load_tool():
    specification = importlib.util.spec_from_file_location("notebooks", ROOT / "tools/notebooks.py")
    tool = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(tool)
    return tool


@pytest.fixture
def execute(tmp_path, monkeypatch):
    """Run a notebook in a kernel of its own; return it with its outputs."""
    nbclient = pytest.importorskip("nbclient", reason="notebooks need nbclient (gpumem[notebooks])")
    pytest.importorskip("ipykernel", reason="notebooks need ipykernel (gpumem[notebooks])")
    pytest.importorskip("matplotlib", reason="notebooks need matplotlib (gpumem[notebooks])")
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    startup = tmp_path / "ipython/profile_default/startup"
    startup.mkdir(parents=True)
    (startup / "watch.py").write_text(WATCH, encoding="utf-8")

    def run(notebook, backend, *, made_up=False):
        if made_up:
            words = f"import sys\nsys.path.insert(0, {str(ROOT / 'tests')!r})\n"
            words += "import made_up\nmade_up.install()\n"
            (startup / "made_up_device.py").write_text(words, encoding="utf-8")
        environment = {
            **os.environ,
            "IPYTHONDIR": str(tmp_path / "ipython"),
            "GPUMEM_BACKEND": backend,
            "GPUMEM_NOTEBOOK_QUICK": "1",
            # The kernel imports the same gpumem as these tests, wherever it starts.
            "PYTHONPATH": os.pathsep.join(map(os.path.abspath, [HERE, *WAYS])),
        }
        environment.pop("MPLBACKEND", None)
        client = nbclient.NotebookClient(
            notebook,
            timeout=SECONDS,
            startup_timeout=SECONDS,
            kernel_name="python3",
            resources={"metadata": {"path": str(FOLDER)}},
        )
        client.execute(env=environment)
        return notebook

    return run


def outputs(notebook):
    return [one for cell in notebook.cells if cell.cell_type == "code" for one in cell.outputs]


def complaints(notebook):
    return [one.text for one in outputs(notebook) if one.get("name") == "stderr"]


def pictures(notebook):
    return [one for one in outputs(notebook) if "image/png" in one.get("data", ())]


def texts(notebook):
    told = [one["data"] for one in outputs(notebook) if "data" in one]
    return "\n".join(str(data["text/markdown"]) for data in told if "text/markdown" in data)


def test_readme_names_them_all():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"\(notebooks/([^)]*\.ipynb)\)", text)
    assert NOTEBOOKS and named == [path.name for path in NOTEBOOKS]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_lead_somewhere(path):
    cells = nbformat.read(path, as_version=4).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    for target in re.findall(r"\]\(([^)]*)\)", text):
        assert "://" in target or (FOLDER / target).exists(), target


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_committed_without_outputs(path):
    text = path.read_text(encoding="utf-8")
    assert load_tool().normal(text) == text, "run tools/notebooks.py"


def sections(path):
    """{heading: its cells} of a notebook, in order."""
    found = {}
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown" and cell.source.startswith("#"):
            heading = cell.source.partition("\n")[0].lstrip("# ")
        found.setdefault(heading, []).append(cell)
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_heading_opens_its_cell(path):
    """So that cells that are added or moved stay in their section."""
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            below = cell.source.partition("\n")[2]
            assert not re.search(r"^#+ ", below, re.MULTILINE), cell.source


def test_each_section_of_access_has_its_own_family():
    """The code that measures a family is in the section about it."""
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


def test_tool_clears_and_keeps_ids():
    """Outputs, counts, marks of editors and empty cells go; ids stay and become unique."""
    cells = [
        {"cell_type": "code", "id": "sum", "source": ["1 + 1  \n"], "execution_count": 3}
        | {"metadata": {}, "outputs": [{"output_type": "stream", "name": "stdout", "text": "2"}]},
        {"cell_type": "code", "id": "sum", "source": "2 + 2", "metadata": {"editor": "mine"}},
        {"cell_type": "markdown", "id": "words", "source": "words", "metadata": {}},
        {"cell_type": "code", "id": "empty", "source": [], "metadata": {}, "outputs": []},
    ]
    marks = {"language_info": {"name": "python", "version": "3"}, "colab": {}}
    given = {"cells": cells, "metadata": marks, "nbformat": 4, "nbformat_minor": 4}
    text = load_tool().normal(json.dumps(given))
    kept = nbformat.reads(text, as_version=4)
    assert [cell.id for cell in kept.cells] == ["sum", "cell-1", "words"]
    assert [cell.source for cell in kept.cells] == ["1 + 1", "2 + 2", "words"]
    assert all(not cell.metadata for cell in kept.cells)
    assert kept.cells[0].outputs == [] and kept.cells[0].execution_count is None
    assert "version" not in kept.metadata.language_info and "colab" not in kept.metadata
    assert load_tool().normal(text) == text


@pytest.mark.parametrize("text", ["[]", "{}", '{"nbformat": 3, "worksheets": []}', "words"])
def test_tool_refuses_what_is_no_notebook(text):
    with pytest.raises(ValueError):
        load_tool().normal(text)


def suggestions(notebook):
    """Return the calls that the end of a notebook suggests."""
    told = [cell.source for cell in notebook.cells if "## Try yourself" in cell.source]
    (text,) = [words.split("## Try yourself")[1] for words in told]
    return re.findall(r"`([a-z_.]+\([^`]*\))`", text)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(path, execute, backend):
    given = nbformat.read(path, as_version=4)
    calls = suggestions(given)
    assert calls
    if backend == "sim":  # on which benchmarks have no times
        given.cells += [nbformat.v4.new_code_cell(f"_ = {call}") for call in calls]
    done = execute(given, backend)
    assert not complaints(done)
    assert pictures(done), "it shows nothing"
    told = texts(done)
    if backend == "cuda":
        assert "Measured just now" in told and "Shipped figures" not in told
    else:
        assert "Shipped figures" in told
        assert "Measured just now" not in told


def printed(notebook, execute, code):
    """Return the value that a last cell of a notebook on shipped results prints."""
    given = nbformat.read(FOLDER / notebook, as_version=4)
    given.cells += [nbformat.v4.new_code_cell(code)]
    done = execute(given, "sim")
    return ast.literal_eval(done.cells[-1].outputs[-1].text)


def test_local_memory_is_drawn_dearer_than_what_all_lanes_share(execute):
    """Four sectors for each coefficient and request, not only the two that fill the array."""
    code = "print({line.get_label(): [*map(float, line.get_xdata())] for line in ax.lines})"
    drawn = printed("03-memory-spaces.ipynb", execute, code)
    (local,) = next(counts for label, counts in drawn.items() if label.startswith("local"))
    shared_by_all = max(next(counts for label, counts in drawn.items() if "global" in label))
    assert local > 4 * shared_by_all


def test_a_bar_for_a_family_says_its_size(execute):
    """The size is the largest: a small input is in the L2 cache, and twice as fast."""
    code = (
        "print({t.get_text(): float(bar.get_width()) "
        "for t, bar in zip(ax.get_yticklabels(), ax.patches)})"
    )
    drawn = printed("08-your-gpu.ipynb", execute, code)
    assert len(drawn) > 8
    assert all(re.match(r"\w+, \d+( [KMG]iB|(x\d+)+)(, |$)", words) for words in drawn), drawn
    (gather,) = (width for words, width in drawn.items() if words.startswith("gather, 256 MiB"))
    shipped = gm.results.load("gather-h200")
    (rate,) = (
        one["gbps"]
        for one in shipped.records
        if (one["variant"], one["shape"]) == ("auto", [2**26])
    )
    assert gather == pytest.approx(100 * rate / shipped.provenance["device"]["bandwidth_gbps"])


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_takes_the_way_of_a_gpu(path, execute):
    """The cells for a GPU run on a fake device, whose numbers mean nothing."""
    given = nbformat.read(path, as_version=4)
    given.cells += [nbformat.v4.new_code_cell(f"_ = {call}") for call in suggestions(given)]
    done = execute(given, "sim", made_up=True)
    # Wall-clock times are of this machine: two variants may take equally long.
    lines = "".join(complaints(done)).splitlines()
    assert not [line for line in lines if not line.endswith("lie on each other")]
    assert pictures(done)
    told = texts(done)
    assert "Measured just now:** made-up device" in told and "Shipped figures" not in told


def test_what_is_wrong_is_seen(execute):
    """The checks of test_runs find an empty figure and a warning, and nothing else."""
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
    code = [f"from matplotlib import pyplot\n{words}" for words, _ in cases]
    cells = [nbformat.v4.new_code_cell(one) for one in code]
    done = execute(nbformat.v4.new_notebook(cells=cells), "sim")
    for cell, (_, complaint) in zip(done.cells, cases, strict=True):
        alone = nbformat.v4.new_notebook(cells=[cell])
        if complaint is None:
            assert not complaints(alone) and pictures(alone)
        else:
            assert complaint in "".join(complaints(alone))


def test_an_error_is_seen(execute):
    from nbclient.exceptions import CellExecutionError

    given = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")])
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        execute(given, "sim")
