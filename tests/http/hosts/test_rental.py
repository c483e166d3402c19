"""A database that an application did not make, served as records."""

from __future__ import annotations

import pytest
import requests
import sqlalchemy as sa

from ...databases import url_of
from ...listening import running
from .rental import create_app, make_database

FILM = {"title": "Trees", "price": "2.50"}


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, server_urls, tmp_path):
    url = url_of(request.param, server_urls, tmp_path / "rental.db")
    make_database(url)
    yield url

    if request.param == "postgresql":
        engine = sa.create_engine(url)

        with engine.begin() as connection:
            connection.exec_driver_sql("DROP SCHEMA public CASCADE")
            connection.exec_driver_sql("CREATE SCHEMA public")
            connection.exec_driver_sql("GRANT USAGE ON SCHEMA public TO PUBLIC")

        engine.dispose()


@pytest.fixture
def site(url):
    """A function that calls the running application, and returns status and JSON."""
    app = create_app(url)

    def call(method, path, **options):
        answer = requests.request(method, address + path, **options)
        return answer.status_code, answer.json()

    with running(app) as address:
        yield call

    with app.app_context():
        app.extensions["database"].engine.dispose()


def create(site, path, **record):
    status, created = site("POST", path, json=record)
    assert status == 201, created
    return created


def test_host_has_its_own_view(site):
    create(site, "/film", **FILM)

    assert site("GET", "/titles") == (200, ["Trees"])


def test_record_of_a_composite_key_is_called_by_its_parts(site):
    create(site, "/shelf", room="A,1/é", number=7, label="old")
    id = site("GET", "/shelf")[1][0]["id"]
    path = f"/shelf/{requests.utils.quote(id, safe='')}"

    patched = site("PATCH", path, json={"label": "new"})

    assert patched[1]["label"] == "new"
    assert site("GET", path) == patched
    assert site("PATCH", path, json={"number": 8})[0] == 400
    assert site("PUT", path, json=patched[1] | {"label": "third"})[0] == 200
    assert site("DELETE", path)[1]["label"] == "third"
    assert site("GET", path)[0] == 404


def test_record_that_others_refer_to_is_not_removed(site):
    film = create(site, "/film", **FILM)["film_id"]
    actor = create(site, "/actor", name="Ann")["actor_id"]
    create(site, "/film_actor", film_id=film, actor_id=actor)

    status, answer = site("DELETE", f"/film/{film}")

    # SQLite looks at foreign keys only where the application asks for it.
    assert status in (409, 200)
    assert status == 200 or "still refer to this one" in answer["message"]


def test_trigger_changes_what_is_answered(site):
    film = create(site, "/film", **FILM)

    status, patched = site("PATCH", f"/film/{film['film_id']}", json={"title": "Oaks"})

    assert (status, patched["changed"]) == (200, 1)


def test_constraint_names_its_field(site):
    status, answer = site("POST", "/film", json=FILM | {"price": "-1"})

    assert (status, answer["errors"]) == (400, {"price": "must not be negative"})


def test_view_is_read_and_not_written(site):
    film = create(site, "/film", **FILM)["film_id"]
    listed = {"film_id": film, "title": "Trees", "actors": 0}

    assert site("GET", "/film_list") == (200, [listed])
    status, answer = site("POST", "/film_list", json={"title": "New"})
    assert (status, answer["className"]) == (405, "method-not-allowed")
