"""Placeholders in the paths of services and in URL rules."""

from __future__ import annotations

import pytest

from flask_records.http.placeholders import fill_placeholders, placeholders_of, rule_of


@pytest.mark.parametrize(
    ("path", "rule", "names", "filled"),
    [
        ("rooms", "/rooms", [], "/rooms"),
        ("rooms/<room>/bells", "/rooms/<room>/bells", ["room"], "/rooms/{room}/bells"),
        ("rooms/:room/bells", "/rooms/<room>/bells", ["room"], "/rooms/{room}/bells"),
        (":a/<int:b>", "/<a>/<int:b>", ["a", "b"], "/{a}/{b}"),
        ("<any(x, y):a>", "/<any(x, y):a>", ["a"], "/{a}"),
        ("<any('x:y', z):a>", "/<any('x:y', z):a>", ["a"], "/{a}"),
        ("<path:a>/b:c", "/<path:a>/b:c", ["a"], "/{a}/b:c"),
    ],
)
def test_placeholders_of_a_path(path, rule, names, filled):
    assert rule_of(path) == rule
    assert placeholders_of(rule) == names
    assert fill_placeholders(rule, "{{{}}}".format) == filled
