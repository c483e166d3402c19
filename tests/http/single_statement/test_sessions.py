"""Single statements keep to the session, its transaction and its instances."""

from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from flask_records import Conflict, FlaskRecords, SQLAlchemyService, Transaction

from .models import MODELS, Thing


@contextmanager
def shared(twins, path="things"):
    """A session, and a service that works with it."""
    model, options = MODELS[path]

    with orm.Session(twins.engine) as session:
        adapter = SQLAlchemyService(model, session=lambda: session, multi=True)
        yield session, FlaskRecords().add(path, adapter)


@pytest.mark.parametrize("method", ["patch", "remove"])
def test_a_record_that_a_hook_has_just_made_is_written_through_the_session(
    twins, method
):
    twins.fill("things")
    args = [{"code": "n"}] if method == "patch" else []
    thing, seen = Thing(id=7, code="m"), []

    with shared(twins) as (session, things):

        @things.before(method)
        def add(method, context):
            session.add(thing)

        @things.after(method)
        def look(method, context):
            seen.append((sa.inspect(thing).deleted, thing.code))

        getattr(things, method)(7, *args)

    assert seen == [(False, "n") if method == "patch" else (True, "m")]


@pytest.mark.parametrize(
    "call",
    [
        ("create", {"code": "a"}),
        ("create", [{"code": "n"}, {"code": "a"}]),
        ("create", [{"id": 7}, {"id": 9001}]),
        ("patch", 9001, {"code": "b"}),
    ],
    ids=str,
)
def test_a_transaction_goes_on_after_a_conflict_in_it(twins, call):
    twins.fill("things")
    things = twins.single["things"]
    method, *args = call

    with Transaction():
        things.create({"id": 8, "code": "x"})

        with pytest.raises(Conflict):
            getattr(things, method)(*args)

        things.patch(9002, {"code": "y"})

    with twins.engine.connect() as connection:
        codes = connection.execute(sa.select(Thing.code).order_by(Thing.id)).scalars()
        assert codes.all() == ["x", "a", "y"]
