"""Modules of Python that are made of applications."""

from __future__ import annotations

import sys
import types
from contextlib import contextmanager

from flask_records.openapi.python import python


@contextmanager
def imported(app, name="made_client"):
    """The module of the services of an application."""
    with app.app_context():
        source = python()

    module = types.ModuleType(name)
    # Dataclasses look for their module there.
    sys.modules[name] = module

    try:
        exec(compile(source, f"{name}.py", "exec"), module.__dict__)
        yield module
    finally:
        del sys.modules[name]
