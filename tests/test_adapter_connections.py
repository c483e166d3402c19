"""What a read runs on: a connection of its own, or that of the session."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Thread

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column
from sqlalchemy.orm import relationship
from sqlalchemy.orm import Session
from sqlalchemy.orm import sessionmaker
from sqlalchemy.orm import with_loader_criteria
from sqlalchemy.pool import QueuePool

from flask_records import FlaskRecords
from flask_records import NotFound
from flask_records import Params
from flask_records import SQLAlchemyService
from flask_records import Transaction
from flask_records.adapter.session import first_value

from .conftest import counted

SET_TENANT = "SELECT set_config('records.tenant', 'Acme', true)"
"""A setting of PostgreSQL that lasts until the end of the transaction."""


class Base(DeclarativeBase):
    __table_args__ = {"mysql_collate": "utf8mb4_bin", "mariadb_collate": "utf8mb4_bin"}


tagging = sa.Table(
    "connection_tagging",
    Base.metadata,
    sa.Column("note_id", sa.ForeignKey("connection_note.id"), primary_key=True),
    sa.Column("tag_id", sa.ForeignKey("connection_tag.id"), primary_key=True),
)


class Book(Base):
    __tablename__ = "connection_book"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20))

    notes: Mapped[list[Note]] = relationship(back_populates="book")


class Note(Base):
    __tablename__ = "connection_note"

    id: Mapped[int] = mapped_column(sa.Identity(start=100), primary_key=True)
    text: Mapped[str] = mapped_column(sa.String(20))
    book_id: Mapped[int | None] = mapped_column(sa.ForeignKey("connection_book.id"))

    book: Mapped[Book | None] = relationship(back_populates="notes")
    tags: Mapped[list[Tag]] = relationship(secondary=tagging)


class Tag(Base):
    __tablename__ = "connection_tag"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20))


class Missing(DeclarativeBase):
    pass


class Gone(Missing):
    """A model without a table."""

    __tablename__ = "connection_gone"

    id: Mapped[int] = mapped_column(primary_key=True)


class TenantBase(DeclarativeBase):
    pass


class Setting(TenantBase):
    """A model that shows a setting of the connection."""

    __tablename__ = "connection_setting"

    id: Mapped[int] = mapped_column(primary_key=True)

    @hybrid_property
    def tenant(self) -> str:
        raise NotImplementedError

    @tenant.inplace.expression
    @classmethod
    def _tenant(cls) -> sa.ColumnElement[str]:
        return sa.func.current_setting("records.tenant", True, type_=sa.String)


@dataclass
class Served:
    """Services over one session of an application."""

    app: Flask
    engine: sa.Engine
    session: Session
    records: FlaskRecords
    client: FlaskClient

    def __getitem__(self, path):
        return self.records[path]

    def find(self, path="notes", **query):
        with self.app.app_context():
            return self[path].find(Params(query=query, paginate=False))

    def texts(self, **query):
        return [note["text"] for note in self.find(**query)]

    def in_use(self):
        return self.engine.pool.checkedout(), self.session.in_transaction()


MODELS = {"books": Book, "notes": Note, "tags": Tag, "gone": Gone, "settings": Setting}
IDLE = (0, False)
"""No connection is in use, and the session is in no transaction."""

ROWS = {
    Book: [{"id": 1, "name": "Red"}],
    Note: [{"id": n, "text": f"note {n}", "book_id": 1} for n in (1, 2, 3)],
    Tag: [{"id": 1, "name": "new"}],
    tagging: [{"note_id": 1, "tag_id": 1}],
}


def served_by(engine, session, source=None):
    app, records = Flask("tests"), FlaskRecords(logger=False)

    for path, model in MODELS.items():
        service = SQLAlchemyService(
            model,
            session=source or (lambda: session),
            paginate={"default": 2, "max": 10_000},
            multi=True,
            whitelist=["$populate"],
        )
        records.add(path, service, public=True)

    records.init_app(app)
    return Served(app, engine, session, records, app.test_client())


def fill(engine):
    with engine.begin() as connection:
        for table in reversed(Base.metadata.sorted_tables):
            connection.execute(table.delete())

        for model, rows in ROWS.items():
            connection.execute(sa.insert(model), rows)


@pytest.fixture(scope="module")
def url(module_url, tmp_path_factory):
    """The URL of a database of each kind."""
    if module_url == "sqlite://":
        return f"sqlite:///{tmp_path_factory.mktemp('connections') / 'test.db'}"

    return module_url


@pytest.fixture(scope="module")
def used_urls():
    """The URLs of the databases whose tables the module has made."""
    urls = set()
    yield urls

    for url in urls:
        engine = sa.create_engine(url)
        Base.metadata.drop_all(engine)
        TenantBase.metadata.drop_all(engine)
        engine.dispose()


@pytest.fixture
def make_engine(used_urls):
    """A function that makes an engine of a database with ROWS."""
    engines = []

    def make(url, **options):
        engine = sa.create_engine(url, poolclass=QueuePool, **options)
        engines.append(engine)

        if url not in used_urls:
            used_urls.add(url)
            Base.metadata.create_all(engine)

        fill(engine)
        return engine

    yield make

    for engine in engines:
        engine.dispose()


@pytest.fixture
def served(make_engine, url):
    """Services over a session of each database."""
    engine = make_engine(url)

    with Session(engine) as session:
        yield served_by(engine, session)


@pytest.fixture
def tenants(make_engine, server_urls):
    """Services over a session of PostgreSQL, with one setting."""
    if "postgresql" not in server_urls:
        pytest.skip("TEST_POSTGRESQL_URL is not set")

    engine = make_engine(server_urls["postgresql"])
    TenantBase.metadata.create_all(engine)

    with engine.begin() as connection:
        connection.execute(sa.delete(Setting))
        connection.execute(sa.insert(Setting), {"id": 1})

    with Session(engine) as session:
        yield served_by(engine, session)


READS = [
    lambda served: served["notes"].find(),
    lambda served: served["notes"].find(Params(query={"$sort": {"text": -1}})),
    lambda served: served["notes"].find(Params(query={"$limit": 0})),
    lambda served: served["notes"].find(Params(query={"$limit": 5, "$skip": 1000})),
    lambda served: served.find(**{"$populate": ["book"]}),
    lambda served: served["notes"].get(1),
    lambda served: served.client.get("/notes?$limit=1"),
    lambda served: served.client.get("/notes/1"),
    lambda served: first_value(
        lambda: served.session, Note, sa.select(Note.text), {}
    ),
]  # fmt: skip
FAILURES = [
    (lambda served: served["notes"].get(99), NotFound),
    (lambda served: served["gone"].find(), Exception),
    (lambda served: served["gone"].get(1), Exception),
    (lambda served: first_value(lambda: served.session, Gone, sa.select(Gone.id), {}),
     Exception),
]  # fmt: skip


@pytest.mark.parametrize("read", READS)
def test_a_read_leaves_an_idle_session_without_a_transaction(served, read):
    read(served)

    assert served.in_use() == IDLE


@pytest.mark.parametrize(("read", "error"), FAILURES)
def test_a_read_that_fails_leaves_an_idle_session_as_it_was(served, read, error):
    with pytest.raises(error):
        read(served)

    assert served.in_use() == IDLE
    assert served.texts() == ["note 1", "note 2", "note 3"]


@pytest.mark.parametrize("read", READS)
def test_a_read_leaves_the_transaction_of_a_session_open(served, read):
    served.session.add(Note(text="new"))

    read(served)

    assert served.in_use() == (1, True)
    served.session.rollback()
    assert served.texts() == ["note 1", "note 2", "note 3"]


def test_what_a_session_has_loaded_stays_loaded(served):
    """An idle read neither expires objects nor takes them out of the session."""
    note = served.session.get(Note, 1)
    served.session.expire_on_commit = False
    served.session.commit()

    served.find()

    assert note in served.session
    assert not sa.inspect(note).expired
    assert served.in_use() == IDLE


# What the session knows and the database not yet.


def add(session):
    session.add(Note(text="new"))


def change(session):
    session.get(Note, 1).text = "new"


def change_after_a_commit(session):
    session.expire_on_commit = False
    note = session.get(Note, 1)
    session.commit()
    note.text = "new"


def remove(session):
    session.delete(session.get(Note, 1))


def execute(session):
    session.execute(sa.update(Note).where(Note.id == 1).values(text="new"))


PENDING = [
    (add, ["note 1", "note 2", "note 3", "new"]),
    (change, ["new", "note 2", "note 3"]),
    (change_after_a_commit, ["new", "note 2", "note 3"]),
    (remove, ["note 2", "note 3"]),
    (execute, ["new", "note 2", "note 3"]),
]


@pytest.mark.parametrize(("write", "texts"), PENDING)
def test_a_read_in_a_hook_sees_what_the_session_has_pending(served, write, texts):
    # A row that refers to the note would keep it from being removed.
    served.session.execute(sa.delete(tagging))
    served.session.commit()
    seen = []

    @served["tags"].before("find")
    def look(method, context):
        write(served.session)
        seen.append(sorted(served.texts()))
        seen.append(served["notes"].find().total)

    served["tags"].find()

    assert seen == [sorted(texts), len(texts)]


def test_a_read_by_identifier_sees_what_the_session_has_pending(served):
    note = Note(id=50, text="new")
    served.session.add(note)

    found = served["notes"].get(50)

    assert found["text"] == "new"


def test_a_read_sees_nothing_pending_of_a_session_without_autoflush(served):
    served.session.autoflush = False
    served.session.add(Note(text="new"))

    assert served.texts() == ["note 1", "note 2", "note 3"]
    assert served.session.new


def test_a_read_in_a_block_without_autoflush_flushes_nothing(served):
    with served.session.no_autoflush:
        served.session.add(Note(text="new"))
        texts = served.texts()

    assert texts == ["note 1", "note 2", "note 3"]


def test_reads_in_hooks_see_what_the_outer_call_has_written(served):
    seen = []

    @served["notes"].after("create")
    def look(method, context):
        id = context.result["id"]
        seen.append(served["notes"].get(id)["text"])
        seen.append(served.texts(text="new"))
        seen.append(served["notes"].find().total)

    served["notes"].create({"text": "new"})

    assert seen == ["new", ["new"], 4]
    assert served.in_use() == IDLE


def test_reads_in_a_transaction_see_what_was_written_in_it(served):
    with Transaction():
        served["notes"].create({"text": "new"})
        inside = served.texts(text="new")

        with Session(served.engine) as other:
            outside = other.scalars(sa.select(Note.text).filter_by(text="new")).all()

    assert (inside, outside) == (["new"], [])
    assert served.in_use() == IDLE


def test_a_read_after_a_part_was_undone_does_not_see_it(served):
    with Transaction():
        served["notes"].create({"text": "kept"})

        with pytest.raises(ZeroDivisionError), Transaction():
            served["notes"].create({"text": "undone"})
            raise ZeroDivisionError

        texts = served.texts(id={"$nin": [1, 2, 3]})

    assert texts == ["kept"]


def test_a_read_is_run_where_the_session_has_its_model(make_engine, url):
    engine, other = make_engine(url), sa.create_engine("sqlite://")

    with Session(other, binds={Base: engine}) as session:
        texts = served_by(engine, session).texts()

    assert texts == ["note 1", "note 2", "note 3"]
    other.dispose()


# What the application listens to.


@pytest.fixture
def without_two(served):
    """The same services, where a listener leaves out the second note."""

    @sa.event.listens_for(served.session, "do_orm_execute")
    def leave_out(state):
        if state.is_select:
            condition = with_loader_criteria(Note, Note.id != 2)
            state.statement = state.statement.options(condition)

    return served


def test_a_condition_of_a_listener_holds_for_find(without_two):
    page = without_two["notes"].find(Params(query={"$limit": 1}))

    assert (page.total, [note["text"] for note in page.data]) == (2, ["note 1"])
    assert without_two.texts() == ["note 1", "note 3"]
    assert without_two.in_use() == IDLE


def test_a_condition_of_a_listener_holds_for_get(without_two):
    with pytest.raises(NotFound):
        without_two["notes"].get(2)

    assert without_two["notes"].get(3)["text"] == "note 3"
    assert without_two.in_use() == IDLE


def test_a_condition_of_a_listener_holds_for_populate(without_two):
    query = {"$populate": ["notes"]}

    (book,) = without_two.find("books", **query)

    assert [note["id"] for note in book["notes"]] == [1, 3]


@pytest.mark.parametrize("sort", [{}, {"book_id": -1}, {"id": -1}])
def test_a_condition_of_a_listener_holds_for_a_deep_page(without_two, sort):
    rows = [{"id": n, "text": "many", "book_id": 1} for n in range(101, 1201)]

    with without_two.engine.begin() as connection:
        connection.execute(sa.insert(Note), rows)

    query = {"$sort": sort, "$select": ["id"]}
    everything = without_two.find(**query, **{"$limit": 2000})
    found = without_two.find(**query, **{"$limit": 5, "$skip": 1000})

    assert len(everything) == 1102
    assert found == everything[1000:1005]


def test_a_listener_runs_for_reads_where_many_sessions_share_it(make_engine, url):
    engine, calls = make_engine(url), []
    make = sessionmaker(engine)
    sa.event.listen(make, "do_orm_execute", calls.append)

    with make() as session:
        served = served_by(engine, session, make)
        served["notes"].find()
        served["notes"].get(1)

    assert len(calls) == 3
    assert served.in_use() == IDLE


@pytest.mark.parametrize(
    ("read", "statements"),
    [
        (lambda served: served.find(), 2),
        (lambda served: served["notes"].find(), 3),
        (lambda served: served["notes"].get(1), 2),
    ],
)
def test_what_begins_a_transaction_of_the_session_comes_before_a_read(
    served, read, statements
):
    @sa.event.listens_for(served.session, "after_begin")
    def begin(session, transaction, connection):
        connection.exec_driver_sql("SELECT 'begun'")

    with counted(served.engine) as ran:
        read(served)

    assert [each == "SELECT 'begun'" for each in ran] == [
        True,
        *[False] * (statements - 1),
    ]
    assert served.in_use() == IDLE


def test_a_setting_of_a_session_holds_for_its_reads(tenants):
    @sa.event.listens_for(tenants.session, "after_begin")
    def begin(session, transaction, connection):
        connection.exec_driver_sql(SET_TENANT)

    assert tenants.find("settings") == [{"id": 1, "tenant": "Acme"}]
    assert tenants["settings"].get(1) == {"id": 1, "tenant": "Acme"}
    assert tenants.in_use() == IDLE


def test_a_setting_of_the_transaction_of_a_session_holds_for_its_reads(tenants):
    tenants.session.execute(sa.text(SET_TENANT))

    assert tenants.find("settings") == [{"id": 1, "tenant": "Acme"}]


def test_a_setting_of_an_engine_holds_for_reads(tenants):
    begun = []

    @sa.event.listens_for(tenants.engine, "begin")
    def begin(connection):
        begun.append(connection)
        connection.exec_driver_sql(SET_TENANT)

    assert tenants.find("settings") == [{"id": 1, "tenant": "Acme"}]
    assert tenants["settings"].get(1) == {"id": 1, "tenant": "Acme"}
    assert len(begun) == 2
    assert tenants.in_use() == IDLE


@pytest.mark.parametrize("setting", [SET_TENANT, "SET records.tenant = 'Acme'"])
def test_a_transaction_that_a_checkout_opens_holds_for_reads(tenants, setting):
    @sa.event.listens_for(tenants.engine, "checkout")
    def check_out(connection, record, proxy):
        connection.execute(setting)

    reads = [tenants.find("settings") for _ in range(3)]
    created = tenants["notes"].create({"text": "new"})

    assert reads == [[{"id": 1, "tenant": "Acme"}]] * 3
    assert tenants.texts(id=created["id"]) == ["new"]
    assert tenants.in_use() == IDLE


def test_a_checkout_without_a_transaction_holds_for_reads(tenants):
    @sa.event.listens_for(tenants.engine, "checkout")
    def check_out(connection, record, proxy):
        connection.execute("SET records.tenant = 'Acme'")
        connection.commit()

    assert tenants.find("settings") == [{"id": 1, "tenant": "Acme"}]


# Transactions of PostgreSQL.


def autocommits(engine):
    """A list of whether the connection of each statement begins no transaction."""
    found = []

    @sa.event.listens_for(engine, "after_cursor_execute")
    def remember(connection, *rest):
        found.append(connection.connection.dbapi_connection.autocommit)

    return found


@pytest.mark.parametrize("read", READS[:-1])
def test_a_read_of_an_idle_session_begins_no_transaction(tenants, read):
    found = autocommits(tenants.engine)

    read(tenants)

    assert set(found) == {True}


def test_reads_of_a_session_in_a_transaction_are_in_it(tenants):
    tenants.session.execute(sa.select(1))
    found = autocommits(tenants.engine)

    for read in READS:
        read(tenants)

    assert set(found) == {False}


def test_a_connection_begins_transactions_again_after_a_read(make_engine, server_urls):
    if "postgresql" not in server_urls:
        pytest.skip("TEST_POSTGRESQL_URL is not set")

    engine = make_engine(server_urls["postgresql"], pool_size=1, max_overflow=0)

    with Session(engine) as session:
        served = served_by(engine, session)
        served.find()

        with engine.connect() as connection:
            connection.execute(sa.insert(Note), {"text": "undone"})
            connection.rollback()

        with pytest.raises(ZeroDivisionError), Transaction():
            served["notes"].create({"text": "undone"})
            raise ZeroDivisionError

        assert served.texts() == ["note 1", "note 2", "note 3"]


# Sessions that are bound to a connection.


@pytest.fixture
def connection(make_engine, url):
    """A connection in a transaction that is undone at the end, as of a test suite."""
    engine = make_engine(url)

    with engine.connect() as connection:
        transaction = connection.begin()

        # The driver would begin the transaction not before the first INSERT.
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN")

        yield connection
        transaction.rollback()
        texts = connection.scalars(sa.select(Note.text).order_by(Note.id)).all()

    assert texts == ["note 1", "note 2", "note 3"]


@pytest.mark.parametrize("mode", ["create_savepoint", "rollback_only"])
def test_a_session_on_a_connection_reads_what_was_written_there(connection, mode):
    connection.execute(sa.insert(Note), {"id": 50, "text": "by hand"})

    with Session(connection, join_transaction_mode=mode) as session:
        served = served_by(connection.engine, session)
        session.add(Note(id=51, text="by the session"))
        session.commit()
        created = served["notes"].create({"text": "by a call"})
        found = served.client.get("/notes?id[$gt]=49&$limit=9").json
        one = served["notes"].get(created["id"])

        assert sorted(note["text"] for note in found["data"]) == [
            "by a call",
            "by hand",
            "by the session",
        ]
        assert found["total"] == 3
        assert one == created
        assert served.engine.pool.checkedout() == 1


def test_reads_of_a_session_on_a_connection_leave_its_transaction(connection):
    with Session(connection) as session:
        served = served_by(connection.engine, session)

        served.find()
        served["notes"].get(1)

        assert connection.in_transaction()
        assert not session.in_transaction()


# One connection is enough.


@pytest.fixture(params=["one session", "a session a call"])
def narrow(request, make_engine, url):
    """Services over an engine that has only one connection."""
    engine = make_engine(url, pool_size=1, max_overflow=0, pool_timeout=0.2)

    with Session(engine) as session:
        source = sessionmaker(engine) if request.param == "a session a call" else None
        yield served_by(engine, session, source)


CALLS = [
    lambda served: served["notes"].find().total,
    lambda served: served["notes"].get(1),
    lambda served: served.find("notes", **{"$populate": ["book", "tags"]}),
    lambda served: served.find("books", **{"$populate": ["notes"]}),
    lambda served: served["notes"].create({"text": "new"}),
    lambda served: served["notes"].create([{"text": "a"}, {"text": "b"}]),
    lambda served: served["notes"].patch(3, {"text": "new"}),
    lambda served: served["notes"].patch(None, {"text": "new"}),
    lambda served: served["notes"].remove(3),
]


@pytest.mark.parametrize("call", CALLS)
def test_a_call_takes_one_connection(narrow, call):
    assert call(narrow)
    assert narrow.in_use() == IDLE


@pytest.mark.parametrize("call", CALLS)
def test_a_call_whose_hooks_read_takes_one_connection(narrow, call):
    seen = []

    @narrow.records.before()
    @narrow.records.after()
    def look(method, context):
        if context.params.extra.get("is_nested"):
            return

        nested = Params(extra={"is_nested": True})
        seen.append(narrow["tags"].get(1, nested)["name"])
        nested = Params(extra={"is_nested": True})
        seen.append(narrow["tags"].find(nested).total)

    assert call(narrow)
    assert {*seen} == {"new", 1}
    assert narrow.in_use() == IDLE


@pytest.mark.parametrize("call", CALLS)
def test_a_call_whose_hooks_use_the_session_takes_one_connection(
    make_engine, url, call
):
    engine = make_engine(url, pool_size=1, max_overflow=0, pool_timeout=0.2)

    with Session(engine) as session:
        served = served_by(engine, session)

        @served.records.before()
        @served.records.after()
        def look(method, context):
            session.scalars(sa.select(Tag)).all()

        assert call(served)
        session.rollback()
        assert served.in_use() == IDLE


def test_calls_at_the_same_time_share_one_connection(make_engine, url):
    engine = make_engine(url, pool_size=1, max_overflow=0, pool_timeout=10)
    found = []

    with Session(engine) as session:
        served = served_by(engine, session, sessionmaker(engine))

        def read():
            found.extend(served["notes"].find().total for _ in range(10))

        threads = [Thread(target=read) for _ in range(4)]

        for thread in threads:
            thread.start()

        for thread in threads:
            thread.join(30)

        assert found == [3] * 40
        assert served.in_use() == IDLE
