"""Flask-Login's sessions as credentials, as the documentation makes them."""

from __future__ import annotations

import pytest
import requests
import websocket

from ...realtime import connected
from ...test_docs import module as module
from ...waiting import wait_until
from .documented import serving

ANN = {"email": "ann@example.com", "password": "a long secret"}
EVIL = {"Origin": "https://evil.example"}


class Browser(requests.Session):
    """A browser at one site."""

    def __init__(self, url):
        super().__init__()
        self.url = url

    def request(self, method, path, **options):
        return super().request(method, f"{self.url}{path}", **options)

    def log_in(self):
        assert self.post("/login", data=ANN).text == "Hello."

    @property
    def cookie(self):
        """The header that a WebSocket sends."""
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())


@pytest.fixture
def url(module):
    with serving("existing-logins.md", module) as url:
        yield url


@pytest.fixture
def browser(url):
    """A browser that is logged in."""
    with Browser(url) as browser:
        browser.log_in()
        yield browser


@pytest.fixture
def other(url):
    """Another browser of the same user."""
    with Browser(url) as browser:
        browser.log_in()
        yield browser


def test_session_calls_services(browser):
    created = browser.post("/notes", json={"text": "Hi", "userId": 7})

    assert created.json() == {"id": 1, "text": "Hi", "userId": 1}
    assert browser.get("/notes").json() == [created.json()]


def test_caller_without_a_session_is_refused(url):
    assert requests.get(f"{url}/notes").status_code == 401


def test_answers_for_a_session_are_not_stored(browser):
    assert browser.get("/notes").headers["Cache-Control"] == "no-store"


def test_logout_ends_the_session_in_this_browser_only(browser, other):
    stolen = {"Cookie": browser.cookie}

    browser.post("/logout")

    assert browser.get("/notes").status_code == 401
    assert requests.get(f"{browser.url}/notes", headers=stolen).status_code == 401
    assert other.get("/notes").status_code == 200


def test_new_login_after_a_logout_is_valid(browser):
    browser.post("/logout")
    browser.log_in()

    assert browser.get("/notes").status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost"])
@pytest.mark.parametrize("body", [{"data": {"text": "x"}}, {"json": {"text": "x"}}])
def test_page_of_another_origin_can_not_use_the_session(browser, origin, body):
    answer = browser.post("/notes", headers={"Origin": origin}, **body)

    assert answer.status_code == 401
    assert browser.get("/notes").json() == []


def test_page_of_the_same_origin_uses_the_session(browser):
    own = {"Origin": browser.url}

    assert browser.post("/notes", json={"text": "x"}, headers=own).status_code == 201


@pytest.mark.parametrize("login", [["1", "x"], {"user_id": "1", "id": "x"}, "1", None])
def test_client_can_not_claim_a_session(url, login):
    body = {"strategy": "session", "login": login}

    assert requests.post(f"{url}/authentication", json=body).status_code == 401


@pytest.mark.parametrize("login", [["1", "x"], {"user_id": "1", "id": "x"}, "1", None])
def test_client_can_not_claim_a_session_that_gives_tokens(module, url, login):
    """An application may let its sessions get tokens."""
    settings = module.authentication.settings_of(module.app)
    object.__setattr__(settings, "strategies", ("jwt", "session"))
    body = {"strategy": "session", "login": login}

    assert requests.post(f"{url}/authentication", json=body).status_code == 401


def test_removed_user_has_no_session(module, browser):
    with module.app.app_context():
        module.db.session.delete(module.db.session.get(module.User, 1))
        module.db.session.commit()

    assert browser.get("/notes").status_code == 401
    assert browser.get("/profile").status_code == 401


def test_socket_of_a_session_gets_events(browser):
    with connected(browser.url, Cookie=browser.cookie) as socket:
        browser.post("/notes", json={"text": "Hi"})
        events = socket.events()

    assert events == [["notes created", {"id": 1, "text": "Hi", "userId": 1}]]


def test_remembered_user_gets_a_socket_with_the_first_page(module, url):
    def log_in():
        user = module.db.session.get(module.User, 1)
        module.login_user(user, remember=True)
        return "Hello."

    module.app.view_functions["log_in"] = log_in

    with Browser(url) as browser:
        browser.log_in()
        # The browser was closed meanwhile.
        del browser.cookies["session"]
        browser.get("/profile")

        with connected(url, Cookie=browser.cookie) as socket:
            assert socket.result("find", "notes") == []


def test_logout_ends_the_socket_of_this_browser_only(module, browser, other):
    left = []
    module.realtime.connections("logout")(lambda event, each: left.append(each.user))

    with (
        connected(browser.url, Cookie=browser.cookie) as ended,
        connected(other.url, Cookie=other.cookie) as remaining,
    ):
        browser.post("/logout")
        error = ended.error("find", "notes")
        wait_until(lambda: left)
        other.post("/notes", json={"text": "Later"})

        assert error == (401, "Log in again.")
        assert remaining.names() == ["notes created"]
        assert ended.names() == ["loggedOut"]


def test_page_of_another_origin_opens_no_socket(browser):
    with pytest.raises(websocket.WebSocketBadStatusException):
        with connected(browser.url, Cookie=browser.cookie, **EVIL):
            pass


def test_token_opens_views_of_flask_login(module, url):
    with module.app.app_context():
        token = module.authentication.create_token({"id": 1})[0]

    def status(header):
        return requests.get(
            f"{url}/profile", headers={"Authorization": header}
        ).status_code

    assert status(f"Bearer {token}") == 200
    assert status(f"Bearer {token}x") == 401
    assert status(f"Basic {token}") == 401
    assert status("Bearer") == 401
    assert status("") == 401


def test_session_opens_views_of_flask_login(browser):
    assert browser.get("/profile").text == "ann@example.com"


@pytest.mark.parametrize("commits", [True, False])
def test_logout_amid_other_work_is_kept(module, browser, commits):
    """A view may log out before it has committed its own changes, or lose them."""
    db = module.db

    def log_out():
        db.session.add(module.Note(text="of the view", userId=1))
        module.logout_user()

        if commits:
            db.session.commit()

        return "Goodbye."

    module.app.view_functions["log_out"] = log_out
    stolen = {"Cookie": browser.cookie}

    browser.post("/logout")

    answer = requests.get(f"{browser.url}/notes", headers=stolen)
    assert answer.status_code == 401


def test_session_may_have_another_id_of_the_user(module, browser):
    """Flask-Login allows ids that change, with which sessions end everywhere."""
    module.User.get_id = lambda user: f"id-of-{user.email}"
    module.login_manager.user_loader(
        lambda id: module.db.session.scalar(
            module.db.select(module.User).filter_by(email=id.removeprefix("id-of-"))
        )
    )

    with Browser(browser.url) as third:
        third.log_in()
        assert third.get("/notes").status_code == 200

    assert browser.get("/notes").status_code == 401
