"""Sphinx configuration of the documentation site: `make docs` builds it into build/site."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "ipds"
author = "The ipds developers"
project_copyright = "The ipds developers"
version = release = (HERE.parent / "src/ipds/_version.py").read_text(encoding="utf-8").split('"')[-2]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # MathJax from the installed package: the site needs no network
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "docstrings",
    "dark",
]
exclude_patterns = ["_ext", "_templates", "gallery/README.rst"]
templates_path = ["_templates"]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 3
myst_dmath_double_inline = True
default_role = "py:obj"

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88
highlight_options = {
    "default": {"stripnl": True},
    "python": {"stripnl": True},
}  # doctests end in an empty line
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 1,
    "thumbnail_size": (560, 260),
    "within_subsection_order": "ExampleTitleSortKey",
    "abort_on_example_error": True,
    "image_scrapers": ("dark.scraper",),
}
suppress_warnings = [
    "ref.python",  # `T` of one operator among many: no link
]

html_theme = "furo"
html_title = f"ipds {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
html_show_sphinx = False
