"""Sphinx's settings for the site; tools/site.py puts the pages together and runs it."""

from sphinx.pycode import ModuleAnalyzer

import gpumem

project = "gpumem"
author = copyright = "gpumem contributors"
version = release = gpumem.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["files"]
default_role = "py:obj"
highlight_language = "none"

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "off"
# Keep what a notebook prints in one block, and show no warnings that it would not have either.
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

toc_object_entries_show_parents = "hide"  # the column is narrow

html_theme = "pydata_sphinx_theme"
html_title = "gpumem"
html_static_path = ["_static"]
html_css_files = ["site.css"]
# Pages without pages below them need no column for these.
_ALONE = ("install", "tour", "experiments", "simulator", "results")
_ALONE += ("host-memory", "several-gpus", "commands", "changelog")
html_sidebars = {page: [] for page in _ALONE}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "gpumem"},
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "friendly",
    "pygments_dark_style": "monokai",
}


def without_overloads(analyze):
    """Show a function's own signature, not those that type checkers choose from."""

    def analyzed(self):
        analyze(self)
        self.overloads = {}

    return analyzed


ModuleAnalyzer.analyze = without_overloads(ModuleAnalyzer.analyze)
