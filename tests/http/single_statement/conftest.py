from contextlib import ExitStack

import pytest

from .notes import Notes
from .twins import twins_on


@pytest.fixture(scope="module")
def twins(module_url):
    """Services that write by single statements, and their twins, which never do."""
    with twins_on(module_url) as twins:
        yield twins


@pytest.fixture
def make_notes():
    """A function that makes a :class:`.Notes`."""
    with ExitStack() as stack:

        def make_notes(*args, **options):
            notes = Notes(*args, **options)
            stack.callback(notes.engine.dispose)
            return notes

        yield make_notes
