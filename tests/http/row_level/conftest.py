import pytest
import sqlalchemy as sa

from ...authentication import bearer, log_in
from .app import BOB, make_records, Note, NOTES, Person, rows_of, served, session_of


@pytest.fixture(scope="module")
def served_client(module_url):
    with served(make_records(), module_url) as client:
        yield client


@pytest.fixture
def client(served_client):
    """A client of the application, whose notes and users are those of every test."""
    with session_of(served_client) as session:
        session.execute(sa.delete(Note))
        session.execute(sa.delete(Person).where(Person.id > 2))
        session.execute(sa.insert(Note), NOTES)
        session.commit()

    return served_client


@pytest.fixture(scope="module")
def ann(served_client):
    return bearer(log_in(served_client))


@pytest.fixture(scope="module")
def bob(served_client):
    login = {"strategy": "local", **BOB}
    answer = served_client.post("/authentication", json=login)
    return bearer(answer.json["accessToken"])


@pytest.fixture
def notes(client):
    """A function that returns the notes that the database has."""
    return lambda: rows_of(client, Note)
