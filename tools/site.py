"""Build the documentation site: build/site/html.

    python tools/site.py [--no-run]

First the pages are put together in build/site/source: those of docs/, with their tables filled in
and the kernels of each family below; the pictures; the notebooks with their outputs; and the
documents that are elsewhere (ELSEWHERE). Then Sphinx makes HTML of them, and any warning is an
error. A notebook is shown as the tests have left it in build/notebooks, or is run; with --no-run
those that nothing has run yet are shown without outputs. Needs ``pip install '.[docs]'``.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import document_tables
import nbformat
import pictures
from command_page import commands

import gpumem as gm
import notebooks

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
BUILT = ROOT / "build" / "site"
SOURCE = BUILT / "source"

# Documents that are not in docs/: where they are in the repository, and on the site.
ELSEWHERE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "csrc/sim/README.md": "simulator-files.md",
}
PAGE = {
    f"docs/{path.relative_to(DOCS)}": str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")
}
PAGE |= ELSEWHERE
PAGE |= {f"notebooks/{path.name}": f"notebooks/{path.name}" for path in notebooks.all_files()}
PAGE |= {"README.md": "index.md", "docs/commands.md": "commands.md"}
NOT_COPIED = ("README.md", "docs/commands.md")
WRITTEN = [file for file in PAGE if file.endswith(".md") and file not in NOT_COPIED]

LINK = re.compile(r"(!?)\[((?:[^][]|\[[^][]*\])*)\]\(([^()\s]+)\)")
CODE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
NOT_RUN = "*This notebook is shown without its outputs: the site was built without running it.*"

MACHINE_CODE = """
## Machine code

What nvcc made of each kernel for compute capability 9.0; instructions are counted in the code,
not as executed. Occupancy is the part of a multiprocessor's threads that are resident at the
variant's block size; shared memory that a call chooses, as `prefetch_sum` does by `distance`, is
not counted. `gpumem attributes` and `gpumem sass` show 8.0, 10.0 and 12.0 as well.

<!-- machine code: {} -->
<!-- end -->
"""


STALLS = """
## What warps wait for

{}

<!-- stalls: {} -->
<!-- end -->
"""
HOW_STALLS = (
    "The longest waits of a kernel, in cycles per instruction, and what its caches hold, as a GPU "
    "counts them; [how to read it](index.md#reasons-to-wait)."
)


def kernel_targets() -> dict[str, str]:
    """Return the place on the site of each kernel's source file."""
    return {
        one.source: f"families/{one.family}.md#{document_tables.anchor(one)}"
        for family in gm.families()
        for one in gm.variants(family)
    }


class Links:
    """Rewrites links between files of the repository to links between pages."""

    def __init__(self) -> None:
        self.kernels = kernel_targets()

    def rewritten(self, text: str, file: str) -> str:
        """Return a document for the site; `file` is where it is in the repository."""
        here = Path(PAGE[file]).parent

        def replace(match: re.Match[str]) -> str:
            mark, words, target = match.groups()
            if "://" in target or target.startswith("#"):
                return match[0]
            path, _, anchor = target.partition("#")
            goal = os.path.normpath(Path(file).parent / path)
            page = self.kernels.get(goal) or PAGE.get(goal)
            if page is None and (ROOT / goal).is_dir():
                return words
            if page is None:
                page = str(self.copied(goal, file))
            there, _, at = page.partition("#")
            at = anchor or at
            relative = os.path.relpath(there, here)
            if at and there == PAGE[file]:
                return f"{mark}[{words}](#{at})"
            return f"{mark}[{words}]({relative}{'#' + at if at else ''})"

        parts = CODE.split(text)
        parts[::2] = [LINK.sub(replace, part) for part in parts[::2]]
        return "".join(parts)

    def copied(self, goal: str, file: str) -> Path:
        """Copy a file that is linked to, unless it is made for the site; return where it is."""
        if goal.startswith("docs/pictures/"):
            return Path(goal).relative_to("docs")
        if not (ROOT / goal).is_file():
            raise SystemExit(f"{file} links to {goal}, which is not there")
        place = Path(goal).relative_to("docs") if goal.startswith("docs/") else Path("files", goal)
        (SOURCE / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / goal, SOURCE / place)
        return place


def facts(variant: gm.Variant) -> list[str]:
    """Return what the table says of a kernel, in words."""
    found = []
    if variant.follows:
        target = f"kernel-{variant.family}-{variant.follows}"
        found.append(f"follows [`{variant.follows}`](#{target})")
    if variant.source.endswith(".cu") and any(variant.block):
        found.append(f"{' x '.join(map(str, variant.block))} threads per block")
    if variant.elements > 1:
        found.append(f"{variant.elements} elements per thread and step")
    if variant.alignment > 1:
        found.append(f"addresses that are multiples of {variant.alignment} bytes")
    if variant.itemsizes:
        found.append(f"elements of {', '.join(map(str, variant.itemsizes))} bytes")
    if variant.requires:
        found.append(f"needs {variant.requires}")
    for name, words in (
        ("width", "{:g} bits per access"),
        ("load_sectors", "{:g} sectors per load request"),
        ("store_sectors", "{:g} sectors per store request"),
        ("bank_ways", "bank ways: {:g}"),
    ):
        if variant.claims[name]:
            found.append(words.format(variant.claims[name]))
    return found


def kernel(variant: gm.Variant) -> str:
    """Return the section about a kernel: its idea, what the table says, its source."""
    idea = document_tables.idea(variant)
    lines = [f"({document_tables.anchor(variant)})=", f"### {variant.name}", ""]
    lines += [f"{idea[0].upper()}{idea[1:]}.", "", " · ".join(facts(variant)), ""]
    language = "cuda" if variant.source.endswith(".cu") else "c"
    text = (ROOT / variant.source).read_text(encoding="utf-8")
    lines += [f":::{{dropdown}} {variant.source}", f"````{{code-block}} {language}"]
    lines += [text.rstrip("\n"), "````", ":::", ""]
    return "\n".join(lines)


def family_page(family: str) -> str:
    """Return what docs/families has about a family, and its kernels below."""
    file = DOCS / "families" / f"{family}.md"
    if file.exists():
        text = file.read_text(encoding="utf-8")
    else:
        text = f"# {family}\n\n{document_tables.first_line(family)}\n"
    if f"<!-- ladder: {family} -->" not in text:
        text += f"\n<!-- ladder: {family} -->\n<!-- end -->\n"
    call = f"\n## The function\n\n{{py:func}}`gpumem.{family}` has the arguments and the errors.\n"
    if f"<!-- stalls: {family} -->" not in text:
        call = STALLS.format(HOW_STALLS, family) + call
    sections = "\n".join(kernel(one) for one in gm.variants(family))
    return f"{text}{call}{MACHINE_CODE.format(family)}\n## The kernels\n\n{sections}"


def write(place: str, text: str) -> None:
    """Write a page, unless it is there already: Sphinx reads only what changed."""
    file = SOURCE / place
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")


def put_pages(links: Links) -> None:
    """Write all pages but the notebooks."""
    of_families = {f"docs/families/{family}.md": family for family in gm.families()}
    PAGE.update({file: f"families/{family}.md" for file, family in of_families.items()})
    for file in WRITTEN:
        if file not in of_families:
            text = (ROOT / file).read_text(encoding="utf-8")
            write(PAGE[file], links.rewritten(document_tables.filled(text), file))
    for file, family in of_families.items():
        write(PAGE[file], links.rewritten(document_tables.filled(family_page(family)), file))
    write("commands.md", commands())
    shutil.copyfile(DOCS / "conf.py", SOURCE / "conf.py")
    shutil.copytree(DOCS / "_static", SOURCE / "_static", dirs_exist_ok=True)


def put_notebooks(links: Links, run: bool) -> None:
    """Write the notebooks with their outputs, or with a line that says that they have none."""
    for path in notebooks.all_files():
        notebook = notebooks.executed(path, run=run)
        if notebook is None:
            notebook = nbformat.read(path, as_version=4)
            notebook.cells.insert(1, nbformat.v4.new_markdown_cell(NOT_RUN, id="not-run"))
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = links.rewritten(cell.source, f"notebooks/{path.name}")
        write(f"notebooks/{path.name}", nbformat.writes(notebook) + "\n")


def remove_others(wanted: Callable[[Path], bool]) -> None:
    """Remove pages of an earlier build that are no pages any more."""
    for path in SOURCE.rglob("*"):
        if path.suffix in (".md", ".ipynb") and not wanted(path):
            path.unlink()


def main() -> int:
    """Return the exit status of Sphinx."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--no-run", action="store_true", help="show notebooks that nobody ran without outputs"
    )
    options = parser.parse_args()
    os.environ["GPUMEM_BACKEND"] = "sim"
    SOURCE.mkdir(parents=True, exist_ok=True)
    links = Links()
    put_pages(links)
    pages = {SOURCE / page for page in PAGE.values()}
    remove_others(pages.__contains__)
    put_notebooks(links, run=not options.no_run)
    pictures.draw(SOURCE / "pictures")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    command += ["-d", str(BUILT / "doctrees"), str(SOURCE), str(BUILT / "html")]
    status = subprocess.run(command).returncode
    if status == 0:
        print(f"{BUILT / 'html' / 'index.html'}")
    return status


if __name__ == "__main__":
    sys.exit(main())
