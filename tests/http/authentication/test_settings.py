"""Settings of an authentication service, checked at the start."""

import json
import re

import pytest
from flask import Flask

from tests.authentication import Echo, make_records, SECRET
from tests.http.authentication.authenticated import SETTINGS, start


@pytest.mark.parametrize("config", [{}, {"RECORDS_AUTHENTICATION": SETTINGS}])
def test_closed_service_needs_an_authentication_service(config):
    with pytest.raises(RuntimeError) as caught:
        start(**config)

    assert str(caught.value) == (
        "The service 'messages' needs a token for its calls, and nothing issues tokens."
        ' Add an authentication service, records.add("authentication",'
        " AuthenticationService()), or add this one with public=True to let everybody"
        " in."
    )


def test_closed_service_needs_the_authentication_service_that_it_names():
    records = make_records()
    records.add("admin", Echo(), authentication="nowhere")

    with pytest.raises(RuntimeError, match="nowhere"):
        start(records, RECORDS_AUTHENTICATION=SETTINGS)


def test_closed_service_needs_the_strategies_that_it_names():
    records = make_records()
    records.add("admin", Echo(), strategies=["jtw"])

    with pytest.raises(RuntimeError, match="'admin' accepts 'jtw', which is not a"):
        start(records, RECORDS_AUTHENTICATION=SETTINGS)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("secret", " must be a mapping such as {'lifetime': '12h'}."),
        (["secret"], " must be a mapping such as {'lifetime': '12h'}."),
        ({"lifetme": "1d"}, " has no key 'lifetme'. The keys are 'secret', 'secrets',"),
        ({"secret": SECRET.encode()}, "['secret'] must be text."),
        (
            {"strategies": "local"},
            "['strategies'] must be a list of texts, not 'local'.",
        ),
        ({"strategies": [["jwt"]]}, "['strategies'] must be a list of texts, not"),
        ({"passwords": 5}, "['passwords'] must be a mapping, not 5."),
        ({"oauth": []}, "['oauth'] must be a mapping."),
        ({"allow_short_secret": 1}, "['allow_short_secret'] must be True or False"),
        (
            {"strategies": ["jwt", "locale"]},
            "['strategies'] names 'locale', which is not a strategy. The strategies"
            " are: jwt, local, api-key.",
        ),
    ],
)
def test_wrong_settings_are_refused_at_start_up(setting, message):
    is_mapping = isinstance(setting, dict)
    value = {"secret": SECRET, **setting} if is_mapping else setting

    with pytest.raises(
        RuntimeError, match=re.escape(f"RECORDS_AUTHENTICATION{message}")
    ):
        start(make_records(), RECORDS_AUTHENTICATION=value)


@pytest.mark.parametrize(
    "environment",
    [
        {"": json.dumps({"secret": SECRET, "lifetime": "15m"})},
        {"__secret": SECRET, "__lifetime": "15m"},
        {"__secret": SECRET, "__lifetime": "900"},
    ],
)
def test_settings_of_the_environment(monkeypatch, environment):
    for name, value in environment.items():
        monkeypatch.setenv(f"FLASK_RECORDS_AUTHENTICATION{name}", value)

    app = Flask("tests")
    app.config.from_prefixed_env()
    records = make_records()
    records.init_app(app)

    with app.app_context():
        tokens = records.authentication().settings.tokens

    assert tokens.lifetime == 900
