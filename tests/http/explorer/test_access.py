"""Where the explorer is on, and for whom."""

import pytest
from flask import Flask

from flask_records import FlaskRecords
from flask_records.explorer import Explorer

from ...authentication import bearer, log_in
from .sites import app_with, ON, SERVICES, serving_explorer

URLS = [
    "/_records",
    "/_records/",
    "/_records/files/1/main.js",
    "/_records/logins.json",
    SERVICES,
]


async def let_ann(user):
    return user["email"].startswith("ann")


def statuses_of(client):
    answers = [client.get(u, follow_redirects=True, buffered=True) for u in URLS]
    return {answer.status_code for answer in answers}


@pytest.mark.parametrize(
    ("config", "debug", "status"),
    [
        (None, True, 200),
        (None, False, 404),
        ({"enabled": None}, True, 200),
        ({"enabled": False}, True, 404),
        (ON, False, 200),
    ],
)
def test_explorer_is_on_in_debug_mode_or_by_its_setting(config, debug, status):
    client = app_with(config, debug=debug).test_client()

    assert statuses_of(client) == {status}


@pytest.mark.parametrize(("config", "status"), [(None, 200), ({"enabled": False}, 404)])
def test_explorer_that_says_for_whom_is_on_unless_turned_off(config, status):
    app = app_with(config, options={"allow": lambda user: True})

    assert app.test_client().get("/_records/").status_code == status


def test_application_without_it_has_its_own_page_for_unknown_urls():
    app = app_with(None)
    app.register_error_handler(404, lambda error: ("own 404", 404))

    assert app.test_client().get("/_records/").text == "own 404"


@pytest.mark.parametrize(
    ("config", "options"),
    [
        ({"enabled": True, "login": True}, {}),
        (None, {"allow": let_ann}),
        ({"allow": lambda user: user["email"].startswith("ann")}, {}),
    ],
)
def test_data_is_for_users_if_the_application_says_so(config, options):
    with serving_explorer(config=config, options=options) as client:
        page = client.get("/_records/")
        refused = [client.get(SERVICES, headers=each) for each in ({}, bearer("no"))]
        answer = client.get(SERVICES, headers=bearer(log_in(client)))

    assert [page.status_code, answer.status_code] == [200, 200]
    assert [each.status_code for each in refused] == [401, 401]
    assert refused[0].json["message"].startswith("Log in, and send the token")
    assert "services" not in refused[0].json


async def refuse(user):
    return False


async def yield_true(user):
    yield True


@pytest.mark.parametrize("allow", [lambda user: user["id"], refuse, yield_true])
def test_users_who_are_not_allowed_get_no_data(allow):
    with serving_explorer(options={"allow": allow}) as client:
        answer = client.get(SERVICES, headers=bearer(log_in(client)))
        # A strategy without users has nobody to ask about.
        robot = client.get(SERVICES, headers={"X-Api-Key": "robot's key"})

    assert (answer.status_code, robot.status_code) == (403, 403)
    assert answer.json["message"] == "You may not see this."
    assert "services" not in answer.json


def test_caller_without_a_login_learns_how_to_log_in():
    with serving_explorer(config={"enabled": True, "login": True}) as client:
        answer = client.get("/_records/logins.json")

    assert answer.json == {
        "name": "tests",
        "prefix": "",
        "realtime": None,
        "logins": [
            {
                "path": "authentication",
                "local": {"username": "email", "password": "password"},
                "oauth": [],
            }
        ],
    }


def test_descriptions_are_kept_as_long_as_they_are_the_same():
    with serving_explorer() as client:
        first = client.get(SERVICES)
        headers = {"If-None-Match": first.headers["ETag"]}
        again = client.get(SERVICES, headers=headers)
        known = client.get(SERVICES, headers=headers | bearer(log_in(client)))

    assert [again.status_code, known.status_code] == [304, 200]
    assert first.headers["Cache-Control"] == "private, no-cache"
    assert first.headers["Vary"] == "Authorization, Accept-Encoding"
    assert first.headers["X-Content-Type-Options"] == "nosniff"


def test_explorer_before_the_services_is_refused():
    app, records = Flask("tests"), FlaskRecords()

    with pytest.raises(RuntimeError, match=r"call records.init_app\(app\) before"):
        Explorer(records, app)


def test_second_explorer_of_an_application_is_refused():
    app = app_with()

    with pytest.raises(RuntimeError, match="has an Explorer already"):
        Explorer(app.extensions["records"], app, url_prefix="/other")
