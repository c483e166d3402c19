from __future__ import annotations

import pytest
from flask_sqlalchemy import SQLAlchemy

from flask_records import FlaskRecords, SQLAlchemyService

from ...databases import served
from .app import Base, keep_to_owner, Thing, World
from .strategies import GROUPS, ON_WHITELIST


@pytest.fixture(scope="module")
def world(module_url):
    db = SQLAlchemy(model_class=Base)
    records = FlaskRecords(app_errors=True)

    def add(path, **options):
        service = SQLAlchemyService(
            Thing,
            multi=True,
            hidden=["password"],
            readonly=["owner_id"],
            whitelist=[*ON_WHITELIST, *GROUPS, "$populate"],
            **options,
        )
        return records.add(path, service, public=True)

    add("mine").before()(keep_to_owner)
    add("plain")
    add("things", paginate={"default": 5, "max": 8})

    with served(db, records, module_url) as app:
        yield World(app, db)
