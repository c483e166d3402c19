"""The documentation as a site: ``sphinx-build -W docs docs/_build``."""

from importlib.metadata import version as version_of

project = "Flask-Records"
author = copyright = "the maintainers of Flask-Records"
version = release = version_of("flask-record-services")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = project
exclude_patterns = ["_build"]
# Commands whose arguments have several lines are more than its lexer reads.
suppress_warnings = ["misc.highlighting_failure"]

# Every heading can be linked to, three levels deep.
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "separated"
autodoc_default_options = {"exclude-members": "cache_ok"}
