from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column
from sqlalchemy.orm import scoped_session
from sqlalchemy.orm import sessionmaker

from flask_records import FlaskRecords
from flask_records import Params
from flask_records import SQLAlchemyService


class Base(DeclarativeBase):
    pass


class Note(Base):
    __tablename__ = "read_note"

    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(sa.String(20))


@pytest.fixture()
def engine(tmp_path):
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'reads.db'}")
    Base.metadata.create_all(engine)

    with engine.begin() as connection:
        connection.execute(sa.insert(Note), [{"text": "Über"}, {"text": "under"}])

    yield engine
    engine.dispose()


def serve(source, **options):
    app, records = Flask("tests"), FlaskRecords()
    service = SQLAlchemyService(Note, session=source, **options)
    notes = records.add("notes", service, public=True)
    records.init_app(app)
    return app, notes


def test_a_read_begins_no_session(engine):
    session = scoped_session(sessionmaker(engine))
    app, notes = serve(session)

    assert app.test_client().get("/notes/1").json == {"id": 1, "text": "Über"}
    assert not session().in_transaction()


def test_a_read_sees_the_work_of_the_session_that_a_hook_has_begun(engine):
    session = scoped_session(sessionmaker(engine))
    app, notes = serve(session)

    @notes.before("find")
    def add(method, context):
        session.add(Note(text="new"))

    assert [note["text"] for note in notes.find()] == ["Über", "under", "new"]
    session.remove()
    assert len(notes.find()) == 4


def test_the_work_of_a_hook_of_a_read_that_fails_is_undone(engine):
    session = scoped_session(sessionmaker(engine))
    app, notes = serve(session)

    @notes.before("get")
    def add(method, context):
        session.add(Note(text="new"))
        session.flush()
        raise ValueError

    with pytest.raises(ValueError):
        notes.get(1)

    assert not session().in_transaction()
    assert len(notes.find()) == 2


def test_a_session_that_chooses_its_engine_by_its_state_reads_itself(engine):
    other = sa.create_engine("sqlite://")
    chosen = []

    class Routed(sa.orm.Session):
        def __init__(self, **options):
            super().__init__(**options)
            self.is_chosen = bool(chosen)

        def get_bind(self, *arguments, **options):
            return engine if self.is_chosen else other

    app, notes = serve(sessionmaker(class_=Routed))
    chosen.append(True)

    assert len(notes.find()) == 2
    other.dispose()


def test_a_sessionmaker_may_get_its_engine_after_the_first_read(engine):
    other = sa.create_engine("sqlite://", poolclass=sa.StaticPool)
    Base.metadata.create_all(other)
    make = sessionmaker(other)
    app, notes = serve(make)
    assert notes.find() == []

    make.configure(bind=engine)

    assert len(notes.find()) == 2
    other.dispose()


def test_listeners_that_come_after_the_first_read_are_heard(engine):
    make = sessionmaker(engine)
    app, notes = serve(make)
    notes.find()
    statements = []
    sa.event.listen(make, "do_orm_execute", statements.append)

    notes.find()

    assert len(statements) == 1


def test_connections_of_other_programs_get_no_functions(engine):
    app, notes = serve(sessionmaker(engine), whitelist=["$ilike"])
    assert len(notes.find(Params(query={"text": {"$ilike": "ÜB%"}}))) == 1
    plain = sa.create_engine("sqlite://")

    with plain.connect() as connection, pytest.raises(sa.exc.OperationalError):
        connection.exec_driver_sql("SELECT records_lower('A')")

    plain.dispose()


def test_connections_that_the_application_has_opened_get_functions(engine):
    with engine.connect() as connection:
        connection.exec_driver_sql("SELECT 1")

    app, notes = serve(sessionmaker(engine), whitelist=["$ilike", "$search"])

    assert len(notes.find(Params(query={"text": {"$ilike": "ÜB%"}}))) == 1
    assert len(notes.find(Params(query={"text": {"$search": "ÜB"}}))) == 1


def test_the_session_of_flask_sqlalchemy_is_not_begun_by_a_read(tmp_path):
    app, db, records = Flask("tests"), SQLAlchemy(model_class=Base), FlaskRecords()
    app.config["SQLALCHEMY_DATABASE_URI"] = f"sqlite:///{tmp_path / 'app.db'}"
    db.init_app(app)
    notes = records.add("notes", SQLAlchemyService(Note), public=True)
    records.init_app(app)

    with app.app_context():
        db.create_all()
        notes.find()
        assert not db.session().in_transaction()
        db.engine.dispose()
