"""Services whose rule nothing can apply to their events."""

from __future__ import annotations

import pytest
from flask import Flask

from flask_records import FlaskRecords, SQLAlchemyService
from flask_records.realtime import Realtime

from ...models import Message


class Notes:
    """Returns the data of a create."""

    def create(self, data, params):
        return data


class Readable(Notes):
    def get(self, id, params):
        return {"id": id}


def own(user):
    return {"userId": user["id"]}


def set_up(target, **options):
    """Set up an application with a service."""
    records = FlaskRecords()
    records.add("notes", target, public=True, **options)
    app = Flask(__name__)
    records.init_app(app)
    Realtime(records, app)


@pytest.mark.parametrize(
    ("target", "options"),
    [
        (Notes(), {}),
        (Notes(), {"methods": ["ring"], "events": ["rung"]}),
        (Readable(), {"methods": ["create"]}),
    ],
    ids=["written", "custom event", "get is not offered"],
)
def test_rule_that_hides_all_events_has_a_warning(target, options, caplog):
    target.ring = lambda data, params: data

    set_up(target, readable=own, **options)

    [record] = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage() == (
        "No client gets events of 'notes': only its 'get' could tell which records meet"
        " 'readable', and it has none. Add 'get' to its object and to 'methods', or"
        " leave 'readable' out and publish events to channels."
    )


@pytest.mark.parametrize(
    ("target", "options"),
    [
        (Notes(), {}),
        (Readable(), {"readable": own}),
        (Readable(), {"readable": own, "methods": ["get"]}),
        (SQLAlchemyService(Message), {"readable": own, "methods": ["create"]}),
    ],
    ids=["no rule", "get", "no events", "model"],
)
def test_other_services_have_none(target, options, caplog, db):
    set_up(target, **options)

    assert caplog.messages == []
