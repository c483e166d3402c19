"""A read takes a connection of its own, or that of a session with pending work."""

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import scoped_session, Session, sessionmaker

from flask_records import FlaskRecords, SQLAlchemyService

from .services import Base, IDLE, Note, READS, served_by, tagging


@pytest.fixture
def served(make_engine, url):
    """Services over a session of each database."""
    engine = make_engine(url)

    with Session(engine) as session:
        yield served_by(engine, session)


@pytest.mark.parametrize("read", READS)
def test_a_read_leaves_an_idle_session_without_a_transaction(served, read):
    read(served)

    assert served.in_use() == IDLE


@pytest.mark.parametrize("read", READS)
def test_a_read_leaves_the_transaction_of_a_session_open(served, read):
    served.session.add(Note(text="new"))

    read(served)

    assert served.in_use() == (1, True)
    served.session.rollback()
    assert served.texts() == ["note 1", "note 2", "note 3"]


def add(session):
    session.add(Note(text="new"))


def change(session):
    session.get(Note, 1).text = "new"


def execute(session):
    session.execute(sa.update(Note).where(Note.id == 1).values(text="new"))


PENDING = [
    (add, ["note 1", "note 2", "note 3", "new"]),
    (change, ["new", "note 2", "note 3"]),
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


def test_a_read_makes_no_session_and_heeds_its_factory(tmp_path):
    engines = [sa.create_engine(f"sqlite:///{tmp_path}/{name}.db") for name in "ab"]
    session = scoped_session(sessionmaker(engines[0]))

    for engine in engines:
        Base.metadata.create_all(engine)

    notes = FlaskRecords().add("notes", SQLAlchemyService(Note, session=session))
    notes.create({"text": "a"})
    session.remove()

    assert [note["text"] for note in notes.find()] == ["a"]
    assert not session.registry.has()

    session.configure(bind=engines[1])

    assert notes.find() == []

    sa.event.listen(session, "do_orm_execute", lambda state: None)
    notes.find()

    assert session.registry.has()
    session.remove()

    for engine in engines:
        engine.dispose()


def test_a_factory_of_the_application_is_asked_for_each_session():
    engines = [
        sa.create_engine("sqlite://", poolclass=sa.pool.StaticPool) for _ in range(2)
    ]

    class OfTenant(sessionmaker):
        def __call__(self, **options):
            return super().__call__(bind=engines[0], **options)

    session = scoped_session(OfTenant())
    notes = FlaskRecords().add("notes", SQLAlchemyService(Note, session=session))

    for engine in engines:
        Base.metadata.create_all(engine)

    notes.create({"text": "a"})
    session.remove()
    engines.reverse()

    assert notes.find() == []
    session.remove()

    for engine in engines:
        engine.dispose()
