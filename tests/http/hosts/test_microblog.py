"""An application as tutorials build it, before and after it serves records."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

import pytest
import requests
from werkzeug.security import generate_password_hash

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    hash_password,
    set_user_field,
    SQLAlchemyService,
)
from flask_records.realtime import Realtime

from ...listening import running
from .microblog import create_app, db, Post, User

ANN = {"username": "ann", "email": "ann@example.com", "password": "correct horse"}

CREDENTIALS = {
    "strategy": "local",
    "username": ANN["username"],
    "password_hash": ANN["password"],
}


def serve_records(app):
    """Add what an adopter of the extension adds."""
    app.config["RECORDS_AUTHENTICATION"] = {"secret": "a7" * 32}
    records = FlaskRecords(url_prefix="/api")
    users = records.add("users", SQLAlchemyService(User, hidden=["password_hash"]))
    users.before("create", "update", "patch")(hash_password("password_hash"))
    posts = records.add("posts", SQLAlchemyService(Post, readonly=["user_id"]))
    posts.before("create")(set_user_field("user_id"))
    login = AuthenticationService(
        username="username", password="password_hash", hasher=generate_password_hash
    )
    records.add("authentication", login)
    records.init_app(app)
    records.watch(db.session)
    app.extensions["events"] = Realtime(records, app)


class Browser(requests.Session):
    """The pages and the records of a site, as a browser gets them."""

    def __init__(self, app, site):
        super().__init__()
        self.app = app
        self._site = site

    def request(self, method, path, **options):
        return super().request(method, self._site + path, **options)

    def register(self, user):
        return self.post("/auth/register", data=user)

    def log_in(self, user):
        return self.post("/auth/login", data=user)


@pytest.fixture
def serving(database_url):
    """Serves the application, and returns a browser."""
    with ExitStack() as stack:

        def serve(prepare=serve_records):
            app = create_app(database_url, prepare=prepare)
            stack.callback(partial(drop_tables, app))
            browser = Browser(app, stack.enter_context(running(app)))
            return stack.enter_context(browser)

        yield serve


def drop_tables(app):
    with app.app_context():
        db.session.remove()
        db.drop_all()
        db.engine.dispose()


@pytest.fixture
def site(serving):
    """A site that serves records, where Ann is registered and has a token."""
    browser = serving()
    browser.register(ANN)
    answer = browser.post("/api/authentication", json=CREDENTIALS)
    browser.headers["Authorization"] = f"Bearer {answer.json()['accessToken']}"
    return browser


# The tests of the application itself.


@pytest.mark.parametrize("prepare", [lambda app: None, serve_records])
class TestHost:
    def test_pages(self, serving, prepare):
        browser = serving(prepare)

        assert browser.get("/").url.endswith("/auth/login?next=%2F")
        browser.register(ANN)
        browser.log_in(ANN)
        page = browser.post("/", data={"body": "Hello, all"})
        assert "ann: Hello, all" in page.text
        assert browser.get("/search?q=Hello").text == "Hello, all"
        browser.get("/auth/logout")
        assert browser.get("/").url.endswith("/auth/login?next=%2F")

    def test_error_pages(self, serving, prepare):
        browser = serving(prepare)

        missing, broken = browser.get("/nowhere"), browser.get("/broken")

        assert (missing.status_code, missing.text) == (
            404,
            "<h1>No such page here</h1>",
        )
        assert (broken.status_code, broken.text) == (
            500,
            "<h1>An unexpected error</h1>",
        )


# The tests of its records.


def test_password_that_a_client_changes_logs_in_at_the_page(site):
    site.patch("/api/users/1", json={"password_hash": "another horse"})

    assert site.log_in(ANN).url.endswith("/auth/login")
    assert site.log_in(ANN | {"password": "another horse"}).url.endswith("/")


def test_records_are_in_the_index_of_the_host(site):
    site.log_in(ANN)
    post = site.post("/api/posts", json={"body": "Hello, all"}).json()
    assert site.get("/search?q=Hello").text == "Hello, all"

    site.patch(f"/api/posts/{post['id']}", json={"body": "Goodbye"})
    assert site.get("/search?q=o").text == "Goodbye"

    site.delete(f"/api/posts/{post['id']}")
    assert site.get("/search?q=o").text == ""


def test_user_with_posts_is_not_removed(site):
    site.post("/api/posts", json={"body": "Hello, all"})

    answer = site.delete("/api/users/1")

    assert (answer.status_code, answer.json()["className"]) == (409, "conflict")
    assert "still refer to" in answer.json()["message"]
    assert site.get("/api/users/1").status_code == 200


def test_posts_of_pages_are_events(site):
    with site.app.app_context():
        client = site.app.extensions["events"].test_client(site.app, user=1)

    site.log_in(ANN)
    site.post("/", data={"body": "From a page"})
    site.post("/api/posts", json={"body": "From a client"})

    posts = [post["body"] for name, post in client.events() if name == "posts created"]
    assert posts == ["From a page", "From a client"]
