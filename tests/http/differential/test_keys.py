"""A record whose primary key has any type is found by the key that is answered."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

# SQLAlchemy 2.1 says so of some types of its own.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Type object:sqlalchemy.exc.SADeprecationWarning"
)


def test_key_at_an_edge(key):
    kind = key.kind
    created = [key.post(value) for value in kind.kept]
    others = [key.post(value) for value in kind.others[:5]]
    # Another form of a key that is there is a conflict.
    assert [a.json for a in created if a.status_code not in (201, 409)] == []
    assert [a.json for a in others if a.status_code not in (201, 400, 409)] == []

    for answer in [*created, *others]:
        if answer.status_code == 201:
            check(key, answer.json)


def check(key, record):
    """Find, write and remove a record by its key."""
    value = record["value"]
    text = value if isinstance(value, str) else json.dumps(value)
    path = f"/values/{quote(text, safe='')}"

    # A path has no such part.
    if text in ("", ".", "..") or "/" in text:
        return

    for verb in ("get", "patch", "delete"):
        body = {"json": {"id": None}} if verb == "patch" else {}
        answer = getattr(key.client, verb)(path, **body)
        assert (answer.status_code, answer.json) == (200, record), (verb, path)
