"""Applications of the documentation, for tests of what its pages promise."""

from __future__ import annotations

from contextlib import contextmanager

from ...listening import running
from ...realtime import running_asgi
from ...test_docs import blocks_of
from ...test_docs import DOCS
from ...test_docs import run_python


def run_examples(page, module):
    """Run the Python of a page in a module.

    :param module: The fixture of that name, which gets all that the page defines.
    """
    for block in blocks_of(DOCS / page):
        if block.language == "python" and not block.mark:
            run_python(block, module)


@contextmanager
def serving(page, module):
    """The address of a server of the application that a page makes."""
    run_examples(page, module)

    if hasattr(module, "realtime"):
        server = running_asgi(module.app, module.realtime)
    else:
        server = running(module.app)

    with server as url:
        yield url
