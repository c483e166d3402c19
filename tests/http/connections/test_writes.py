"""A write that is all of its call takes a connection of its own."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import get_ident

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    mapped_column,
    scoped_session,
    Session,
    sessionmaker,
)

from flask_records import (
    Conflict,
    Converter,
    FlaskRecords,
    Forbidden,
    Params,
    SQLAlchemyService,
)

from ...databases import enforce_foreign_keys
from .services import Base, Note, Tag

NEW_TAGS = [(7, "red"), (8, "blue")]
WRITES = [
    lambda notes: notes.create({"text": "new"}),
    lambda notes: notes.create([{"text": "new"}, {"text": "newer"}]),
    lambda notes: notes.patch(1, {"text": "new"}),
]  # fmt: skip


@pytest.fixture
def engine(make_engine, url):
    return make_engine(url)


@pytest.fixture
def session(engine):
    session = scoped_session(sessionmaker(engine), scopefunc=get_ident)
    yield session
    session.remove()


def notes_of(session, **options):
    service = SQLAlchemyService(Note, session=session, multi=True)
    notes = FlaskRecords(logger=False).add("notes", service, **options)
    # The first write looks at the table.
    notes.patch(2, {"text": "note 2"})
    session.remove()
    return notes


def texts(engine):
    with engine.connect() as connection:
        return connection.scalars(sa.select(Note.text).order_by(Note.id)).all()


@pytest.mark.parametrize("write", WRITES)
def test_a_write_without_hooks_makes_no_session(engine, session, write):
    notes = notes_of(session)
    before = texts(engine)

    write(notes)

    assert texts(engine) != before
    assert engine.pool.checkedout() == 0
    # MariaDB's UPDATE returns no rows.
    is_patch = write is WRITES[2]
    assert session.registry.has() == (is_patch and not engine.dialect.update_returning)


def test_a_removal_makes_no_session(engine, session):
    tags = FlaskRecords().add("tags", SQLAlchemyService(Tag, session=session))
    ids = [tags.create({"id": id, "name": name})["id"] for id, name in NEW_TAGS]
    session.remove()

    removed = [tags.remove(id)["name"] for id in ids]

    assert removed == ["red", "blue"]
    assert tags.find({"name": {"$in": removed}}) == []
    assert not session.registry.has()


@pytest.mark.parametrize(
    "event",
    [
        *("after_begin", "after_transaction_create"),
        *("before_commit", "after_commit", "before_flush"),
    ],
)
def test_a_write_that_somebody_listens_to_uses_the_session(engine, session, event):
    notes, heard = notes_of(session), []
    sa.event.listen(session, event, lambda *args: heard.append(event))

    notes.create({"text": "new"})

    assert session.registry.has()
    # A single statement has nothing to flush.
    assert heard or event == "before_flush"
    assert texts(engine)[-1] == "new"


def test_a_write_uses_a_session_with_a_commit_of_its_own(engine):
    commits = []

    class Counting(Session):
        def commit(self):
            commits.append(texts(engine)[-1])
            super().commit()

    session = scoped_session(sessionmaker(engine, class_=Counting))
    notes_of(session).create({"text": "new"})
    session.remove()

    assert len(commits) == 2
    assert texts(engine)[-1] == "new"


@pytest.mark.skipif(
    not hasattr(Session, "execution_options"), reason="SQLAlchemy 2.0 has no options."
)
def test_a_session_with_a_schema_reads_and_writes_there(tmp_path):
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'all.db'}")
    attach = f"ATTACH '{tmp_path / 'tenant.db'}' AS tenant"
    sa.event.listen(engine, "connect", lambda each, record: each.execute(attach))
    options = {"schema_translate_map": {None: "tenant"}}
    tenant = engine.execution_options(**options)
    Base.metadata.create_all(engine)
    Base.metadata.create_all(tenant)
    session = scoped_session(sessionmaker(engine, execution_options=options))
    tags = FlaskRecords().add("tags", SQLAlchemyService(Tag, session=session))

    for name in ("red", "blue"):
        tags.create({"name": name})
        session.remove()

    assert [tag["name"] for tag in tags.find()] == ["red", "blue"]

    with tenant.connect() as connection:
        assert connection.scalars(sa.select(Tag.name)).all() == ["red", "blue"]


def test_a_new_record_that_a_rule_is_asked_about_is_rolled_back(engine, session):
    allowed = {"create": lambda user: {"text": {"$ne": "secret"}}}
    notes = notes_of(session, allow=allowed, public=True)
    client = Params(provider="rest")

    notes.create({"text": "open"}, client)

    with pytest.raises(Forbidden):
        notes.create({"text": "secret"}, client)

    assert texts(engine)[-1] == "open"


def test_a_write_that_is_refused_writes_nothing_and_gives_its_connection_back(
    engine, session
):
    notes = notes_of(session)

    with pytest.raises(Conflict):
        notes.create([{"id": 50, "text": "new"}, {"id": 1, "text": "new"}])

    assert texts(engine) == ["note 1", "note 2", "note 3"]
    assert engine.pool.checkedout() == 0


def test_a_default_that_uses_the_session_lets_it_write(engine, session):
    class Base(DeclarativeBase):
        pass

    class Counter(Base):
        __tablename__ = "connection_counter"

        id: Mapped[int] = mapped_column(primary_key=True)
        number: Mapped[int]

    def next_number():
        session.execute(sa.update(Counter).values(number=Counter.number + 1))
        return session.scalar(sa.select(Counter.number))

    class Invoice(Base):
        __tablename__ = "connection_invoice"

        id: Mapped[int] = mapped_column(primary_key=True)
        name: Mapped[str] = mapped_column(sa.String(20))
        number: Mapped[int] = mapped_column(default=next_number)

    Base.metadata.create_all(engine)
    service = SQLAlchemyService(Invoice, session=session, multi=True)
    invoices = FlaskRecords(logger=False).add("invoices", service)

    try:
        with session.begin():
            session.add(Counter(id=1, number=0))

        for bodies in ({"name": "a"}, {"name": "b"}, [{"name": "c"}, {"name": "d"}]):
            invoices.create(bodies)
            session.remove()

        assert [each["number"] for each in invoices.find()] == [1, 2, 3, 4]
        assert session.scalar(sa.select(Counter.number)) == 4
    finally:
        session.remove()
        Base.metadata.drop_all(engine)


class DeferredBase(DeclarativeBase):
    pass


class Page(DeferredBase):
    __tablename__ = "connection_page"

    id: Mapped[int] = mapped_column(primary_key=True)
    before_id: Mapped[int | None] = mapped_column(
        sa.ForeignKey(id, deferrable=True, initially="DEFERRED")
    )


def test_a_write_that_the_commit_refuses_is_undone(engine, session):
    if engine.dialect.name == "mariadb":
        pytest.skip("MariaDB checks foreign keys at once.")

    engine.dispose()
    sa.event.listen(engine, "connect", enforce_foreign_keys)
    DeferredBase.metadata.create_all(engine)
    service = SQLAlchemyService(Page, session=session)
    pages = FlaskRecords(logger=False).add("pages", service)
    pages.create({"before_id": None})
    session.remove()

    try:
        for write in (pages.create, partial(pages.patch, 1)):
            with pytest.raises(Conflict, match="^'before_id' refers") as caught:
                write({"before_id": 9})

            assert [*caught.value.errors] == ["before_id"]

        assert pages.find() == [{"id": 1, "before_id": None}]
        assert engine.pool.checkedout() == 0
    finally:
        DeferredBase.metadata.drop_all(engine)


def test_many_writes_at_once_are_all_stored(engine, session):
    notes = notes_of(session)

    def write(number):
        notes.create({"text": f"new {number}"})
        notes.patch(1, {"text": f"patch {number}"})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(40)))

    stored = texts(engine)
    assert len(stored) == 43
    assert set(stored[3:]) == {f"new {number}" for number in range(40)}
    assert engine.pool.checkedout() == 0


def test_a_write_that_waits_for_another_one_lets_it_end(engine, session):
    sa.event.listen(session, "before_flush", lambda *args: None)
    notes = notes_of(session)
    tags = FlaskRecords(logger=False).add(
        "tags", SQLAlchemyService(Tag, session=session)
    )
    others = []

    with ThreadPoolExecutor(1) as pool:

        @tags.before("create")
        def write(method, context):
            others.append(pool.submit(notes.create, {"text": "other"}))
            # SQLite has one writer at a time.
            time.sleep(0.2)
            notes.create({"text": "own"})

        tags.create({"id": 9, "name": "red"})

        assert others[0].result(timeout=10)["text"] == "other"

    assert sorted(texts(engine)[3:]) == ["other", "own"]


def test_a_converter_reads_and_writes_in_the_transaction_of_its_call():
    # Connections to a database in memory share one transaction.
    engine = sa.create_engine("sqlite://", poolclass=sa.StaticPool)
    Base.metadata.create_all(engine)
    session = scoped_session(sessionmaker(engine))
    records = FlaskRecords(logger=False)
    tags = records.add("tags", SQLAlchemyService(Tag, session=session))
    tags.create({"name": "red"})
    tags.create({"name": "blue"})

    def show(text):
        seen = len(tags.find())
        return f"{text} {seen} {tags.create({'name': text})['id']}"

    converters = {"text": Converter(str, show)}
    service = SQLAlchemyService(Note, session=session, converters=converters)
    notes = records.add("notes", service)
    shown = [notes.create({"id": id, "text": "a note"})["text"] for id in (1, 2)]

    assert shown == ["a note 2 3", "a note 3 4"]
    assert texts(engine) == ["a note", "a note"]
    assert len(tags.find()) == 4
