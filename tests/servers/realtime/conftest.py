from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def quick_checks(monkeypatch):
    """The heart of a server beats faster than for people."""
    from flask_records.realtime.asgi import worker

    monkeypatch.setattr(worker, "CHECK_INTERVAL", 0.05)
