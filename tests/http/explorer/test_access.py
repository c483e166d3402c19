"""Where the explorer is on, and for whom."""

from __future__ import annotations

import subprocess
import sys

import pytest
from flask import Flask

from flask_records import FlaskRecords
from flask_records.explorer import Explorer

from ...authentication import bearer
from ...authentication import log_in
from ...processes import ROOT
from ...test_routes import Things
from .sites import app_with
from .sites import ON
from .sites import SERVICES
from .sites import serving_explorer

URLS = [
    "/_records",
    "/_records/",
    "/_records/files/main.js",
    "/_records/logins.json",
    SERVICES,
]


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
    app = app_with(config)
    app.debug = debug

    assert statuses_of(app.test_client()) == {status}


def test_explorer_that_says_for_whom_is_on():
    client = app_with(None, options={"allow": lambda user: True}).test_client()

    assert client.get("/_records/").status_code == 200


def test_setting_turns_off_an_explorer_that_says_for_whom():
    app = app_with({"enabled": False}, options={"allow": lambda user: True})

    assert statuses_of(app.test_client()) == {404}


def test_application_without_it_has_its_own_page_for_unknown_urls():
    app = app_with(None)
    app.register_error_handler(404, lambda error: ("own 404", 404))

    assert app.test_client().get("/_records/").text == "own 404"


def test_explorer_tells_where_it_is_on():
    records = FlaskRecords()
    records.add("things", Things(), public=True)
    explorer = Explorer(records)
    on, off, without = Flask("on"), Flask("off"), Flask("without")
    on.debug = True

    for app in (on, off):
        records.init_app(app)
        explorer.init_app(app)

    assert [explorer.is_on(app) for app in (on, off, without)] == [True, False, False]


@pytest.mark.parametrize("source", ["option", "setting"])
def test_users_who_are_not_allowed_get_no_data(source):
    def is_first(user):
        return user["id"] == 1

    def is_second(user):
        return user["id"] == 2

    for allow, expected in ((is_first, 200), (is_second, 403)):
        options = {"allow": allow} if source == "option" else {}
        config = {"allow": allow} if source == "setting" else None

        with serving_explorer(config=config, options=options) as client:
            anonymous = client.get(SERVICES)
            known = client.get(SERVICES, headers=bearer(log_in(client)))
            page = client.get("/_records/")

        assert page.status_code == 200
        assert (anonymous.status_code, known.status_code) == (401, expected)
        assert anonymous.json["message"].startswith("Log in, and send the token")
        assert "services" not in anonymous.json

    assert known.json["message"] == "You may not see this."
    assert "services" not in known.json


def test_setting_asks_for_a_login():
    with serving_explorer(config={"enabled": True, "login": True}) as client:
        statuses = [
            client.get(SERVICES, headers=headers).status_code
            for headers in ({}, bearer(log_in(client)), bearer("no"))
        ]

    assert statuses == [401, 200, 401]


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


def test_descriptions_are_kept_by_nobody():
    with serving_explorer() as client:
        answer = client.get(SERVICES)

    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Vary"] == "Authorization"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            True,
            r"^RECORDS_EXPLORER must be a mapping such as .*True}, not True\.$",
        ),
        (
            {"on": True},
            r"RECORDS_EXPLORER has no key 'on'\. .* 'enabled', 'login', 'allow'\.$",
        ),
        ({"allow": "admin"}, r"\['allow'\] must be a function of the user"),
    ],
)
def test_setting_that_is_not_valid_is_refused(config, message):
    with pytest.raises(RuntimeError, match=message):
        app_with(config)


def test_option_that_is_no_function_is_refused():
    with pytest.raises(TypeError, match="'allow' must be a function of the user"):
        Explorer(FlaskRecords(), allow="admin")


def test_explorer_before_the_services_is_refused():
    app, records = Flask("tests"), FlaskRecords()

    with pytest.raises(RuntimeError, match=r"call records.init_app\(app\) before"):
        Explorer(records, app)


def test_second_explorer_of_an_application_is_refused():
    app = app_with()

    with pytest.raises(RuntimeError, match="has an Explorer already"):
        Explorer(app.extensions["records"], app, url_prefix="/other")


def test_applications_of_one_process_have_their_own():
    records = FlaskRecords()
    records.add("things", Things(), public=True)
    explorer = Explorer(records)
    prefixed = Explorer(records, url_prefix="/data")
    apps = [Flask("one"), Flask("two"), Flask("three")]

    for app, own in zip(apps, (explorer, explorer, prefixed), strict=True):
        app.debug = app.name != "two"
        records.init_app(app, url_prefix=f"/{app.name}")
        own.init_app(app)

    one, two, three = [app.test_client() for app in apps]
    assert one.get(SERVICES).json["prefix"] == "/one"
    assert two.get(SERVICES).status_code == 404
    assert three.get("/data/services.json").json["prefix"] == "/three"
    assert three.get(SERVICES).status_code == 404


def test_nothing_of_it_is_imported_until_it_is_asked_for():
    source = (
        "import sys; from flask import Flask; from flask_records import FlaskRecords;"
        " FlaskRecords().init_app(Flask('app'));"
        " assert 'flask_records.openapi' in sys.modules;"
        " print([name for name in sys.modules if 'explorer' in name])"
    )
    done = subprocess.run(
        [sys.executable, "-c", source],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "[]\n"
