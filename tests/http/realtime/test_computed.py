"""Computed fields in events."""

from __future__ import annotations

import pytest

from flask_records import SQLAlchemyService

from ...authentication import ANN
from ...models import Message
from ...realtime import BOB, in_memory, make_live_records
from .test_fields import events_of


@pytest.fixture
def numbers():
    """The numbers of records of the calls of the function."""
    return []


@pytest.fixture
def site(tmp_path, numbers):
    def shouts(records) -> list[str]:
        numbers.append(len(records))
        return [each["text"].upper() for each in records]

    records = make_live_records()
    notes = SQLAlchemyService(
        Message,
        multi=True,
        computed={"shout": shouts, "secret": shouts, "own": shouts},
        hidden=["secret"],
        visible={"own": lambda user: user and {"user_id": user["id"]}},
    )
    records.add("notes", notes)

    with in_memory(records, tmp_path) as site:
        site.register(BOB)

        with site.app.app_context():
            yield site


def test_value_is_computed_once_for_all_receivers(site, numbers):
    ann, bob = site.connect(ANN), site.connect(BOB)
    body = {"text": "hi", "user_id": 1}
    id = ann.result("create", "notes", body)["id"]
    ann.result("patch", "notes", id, {"text": "oh"})
    ann.result("remove", "notes", id)
    shown = [record for _, record in events_of(bob, 3)]

    assert [each["shout"] for each in shown] == ["HI", "OH", "OH"]
    assert all("own" not in each and "secret" not in each for each in shown)
    assert [each["own"] for _, each in events_of(ann, 3)] == ["HI", "OH", "OH"]
    # Those of the caller, and no others.
    assert numbers == [1] * 6
