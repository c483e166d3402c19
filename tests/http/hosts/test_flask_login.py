"""Flask-Login's sessions as credentials, as the documentation makes them."""

import pytest
from flask.globals import app_ctx
from flask_login import login_user, logout_user

from flask_records import NotAuthenticated
from flask_records.realtime import Realtime

from ..test_docs import DOCS, run_page
from ..test_docs import module as module


@pytest.fixture
def app(module):
    """The application of the page, with a user and two views."""
    run_page(DOCS / "host-logins.md", module)
    app, db = module.app, module.db

    # Requests would share the contexts that the page leaves open, and their users.
    while app_ctx:
        app_ctx.pop()

    app.add_url_rule("/enter", "enter", lambda: str(login_user(module.load_user(1))))
    remember = lambda: str(login_user(module.load_user(1), remember=True))  # noqa: E731
    app.add_url_rule("/remember", "remember", remember)
    app.add_url_rule("/leave", "leave", lambda: str(logout_user()))
    app.realtime = Realtime(module.own)
    app.realtime.init_app(app)

    with app.app_context():
        db.create_all()
        db.session.add(module.User(email="ann@example.com", password="x"))
        db.session.commit()

    return app


@pytest.fixture
def browser(app):
    """A browser that is logged in."""
    client = app.test_client()
    client.get("/enter")
    return client


def test_session_calls_services(app, browser):
    created = browser.post("/notes", json={"text": "Hi"})

    assert created.status_code == 201
    assert created.headers["Cache-Control"] == "no-store"
    assert browser.get("/notes").json == [created.json]
    assert app.test_client().get("/notes").status_code == 401


def test_logout_ends_the_session_in_this_browser_only(app, browser):
    stolen, other = app.test_client(), app.test_client()
    stolen.set_cookie("session", browser.get_cookie("session").value)
    other.get("/enter")

    browser.get("/leave")

    statuses = [each.get("/notes").status_code for each in (browser, stolen, other)]
    assert statuses == [401, 401, 200]
    browser.get("/enter")
    assert browser.get("/notes").status_code == 200


def test_a_remembered_login_calls_services_at_once(app):
    client, restarted = app.test_client(), app.test_client()
    client.get("/remember")
    restarted.set_cookie("remember_token", client.get_cookie("remember_token").value)

    assert restarted.get("/notes").status_code == 200
    restarted.get("/leave")
    assert restarted.get("/notes").status_code == 401


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost"])
def test_only_pages_of_the_same_origin_use_the_session(browser, origin):
    foreign = {"Origin": origin, "Host": "example.com"}
    own = {"Origin": "http://example.com", "Host": "example.com"}
    browser.set_cookie(
        "session", browser.get_cookie("session").value, domain="example.com"
    )

    assert browser.post("/notes", json={}, headers=foreign).status_code == 401
    assert browser.get("/notes", headers=own).status_code == 200


@pytest.mark.parametrize("login", [["1", "x"], {"user_id": "1", "id": "x"}, "1", None])
def test_client_can_not_claim_a_session(app, login):
    body = {"strategy": "host", "login": login}

    assert app.test_client().post("/authentication", json=body).status_code == 401


def test_removed_user_has_no_session(app, module, browser):
    with app.app_context():
        module.db.session.delete(module.db.session.get(module.User, 1))
        module.db.session.commit()

    assert browser.get("/notes").status_code == 401


def test_blocked_user_stays_out(app, module, browser):
    cookie = f"session={browser.get_cookie('session').value}"
    client = app.realtime.test_client(app, headers={"Cookie": cookie})
    assert client.call("find", "notes") == []

    with app.app_context():
        module.db.session.get(module.User, 1).role = "blocked"
        module.db.session.commit()

    assert browser.get("/notes").status_code == 401

    with pytest.raises(NotAuthenticated):
        client.call("find", "notes")


@pytest.mark.parametrize("strategy", ["local", "jwt", "host"])
def test_there_is_no_second_way_in(app, strategy):
    body = {"strategy": strategy, "email": "ann@example.com", "password": "x"}

    assert app.test_client().post("/authentication", json=body).status_code == 401
