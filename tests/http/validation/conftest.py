from __future__ import annotations

import pytest
from flask_sqlalchemy import SQLAlchemy

from flask_records import FlaskRecords
from flask_records import SQLAlchemyService

from ...databases import served
from .people import Base
from .people import Person
from .people import PersonBody


@pytest.fixture
def records():
    return FlaskRecords()


@pytest.fixture
def persons(records):
    methods = ("create", "update", "patch")
    service = SQLAlchemyService(
        Person,
        schemas=dict.fromkeys(methods, PersonBody),
        hidden=["password"],
        readonly=["fixed"],
        multi=["create", "patch"],
    )
    return records.add("persons", service, public=True)


@pytest.fixture
def call(database_url, records, persons):
    """Make a call, and return the status and the body of its answer."""
    db = SQLAlchemy(model_class=Base)

    with served(db, records, database_url, RECORDS_ERRORS={"codes": True}) as app:
        client = app.test_client()

        def call(verb, path, data=None):
            answer = client.open(path, method=verb, json=data)
            return answer.status_code, answer.get_json()

        call.app = app
        yield call
