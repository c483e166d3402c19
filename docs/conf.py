"""The documentation as a site: ``sphinx-build -W docs docs/_build``."""

from importlib.metadata import version as version_of
from pathlib import Path

project = "Flask-Records"
author = copyright = "the maintainers of Flask-Records"
version = release = version_of("flask-record-services")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = project
html_static_path = ["_static"]
html_css_files = ["site.css"]
exclude_patterns = ["_build"]
# Commands whose arguments have several lines are more than its lexer reads.
suppress_warnings = ["misc.highlighting_failure"]

# Every heading can be linked to, three levels deep.
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "separated"
autodoc_default_options = {"exclude-members": "cache_ok"}

# What the theme leaves out for screen readers.
MENDED = {
    'role="heading">': 'role="heading" aria-level="2">',
    '<aside class="sidebar-drawer': '<aside aria-label="Site" class="sidebar-drawer',
    '<aside class="toc-drawer': '<aside aria-label="Page" class="toc-drawer',
    '<div class="content-icon-container">': (
        '<div class="content-icon-container" role="region" aria-label="Tools">'
    ),
}


def setup(app):
    """Mend the pages of the site once they are built."""
    app.connect("build-finished", mend)


def mend(app, error):
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text()

        for old, new in MENDED.items():
            text = text.replace(old, new)

        page.write_text(text)
