"""Sphinx: offline, warnings are errors (``sphinx-build -W docs docs/_build``)."""

import importlib.util
import sys
from pathlib import Path

import clfrnn

sys.path.insert(0, str(Path(__file__).parent))  # for formulas.py

project = "clfrnn"
author = "The clfrnn developers"
copyright = author
release = version = clfrnn.__version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "myst_parser", "sphinx_design", "formulas"]
html_theme = "furo"
html_math_renderer = "mathml"
html_title = f"clfrnn {release}"
html_copy_source = False
html_search_scorer = str(Path(__file__).parent / "search_order.js")
linkcheck_anchors = False  # lines and comments that scripts of a site show
linkcheck_timeout, linkcheck_retries = 20, 2
exclude_patterns = ["_build", "measured/runs"]  # pages include these
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
napoleon_use_param = False
napoleon_use_rtype = False
autodoc_mock_imports = [] if importlib.util.find_spec("torch") else ["torch"]  # which is large, and only described
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True}
nitpicky = False

# Lines like "(n, dim) float32" in docstrings are read as types, and `dim` as a name that several classes have.
suppress_warnings = ["ref.python"]
