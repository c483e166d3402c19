"""Mappings of settings, checked key by key."""

from __future__ import annotations

import pytest

from flask_records.realtime.settings import CHECKS
from flask_records.settings import COUNT, FLAG, read_settings

URL = "redis://:hunter2@127.0.0.1"


def read(settings):
    return read_settings(
        "RECORDS_PAGES", settings, {"size": COUNT, "on": FLAG}, example={"size": 5}
    )


@pytest.mark.parametrize("settings", [{}, {"size": 5}, {"size": 1, "on": False}])
def test_valid_settings_are_read(settings):
    assert read(settings) == settings


def test_none_is_no_settings():
    assert read(None) == {}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (5, "RECORDS_PAGES must be a mapping such as {'size': 5}."),
        ("", "RECORDS_PAGES must be a mapping such as {'size': 5}."),
        (
            {"Size": 5},
            "RECORDS_PAGES has no key 'Size'. The keys are 'size', 'on'.",
        ),
        ({"size": 0}, "RECORDS_PAGES['size'] must be a positive integer, not 0."),
        ({"size": True}, "RECORDS_PAGES['size'] must be a positive integer, not True."),
        ({"size": "5"}, "RECORDS_PAGES['size'] must be a positive integer, not '5'."),
        ({"on": 1}, "RECORDS_PAGES['on'] must be True or False, not 1."),
        ({"on": None}, "RECORDS_PAGES['on'] must be True or False, not None."),
    ],
)
def test_error_says_what_is_valid(settings, message):
    with pytest.raises(RuntimeError) as caught:
        read(settings)

    assert str(caught.value) == message


@pytest.mark.parametrize("settings", [URL, [URL], {"message_queue": [URL]}])
def test_secrets_are_in_no_error(settings):
    with pytest.raises(RuntimeError, match="^RECORDS_REALTIME") as caught:
        read_settings("RECORDS_REALTIME", settings, CHECKS, example={"path": "live"})

    assert "hunter2" not in str(caught.value)
