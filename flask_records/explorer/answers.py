"""Answers of the explorer with data."""

from __future__ import annotations

import typing as t

from ..http.formatter import dumps
from ..http.formatter import json_response
from ..http.headers import CALLER
from ..http.headers import vary

if t.TYPE_CHECKING:
    from flask import Response


def json_for_caller(value: t.Any) -> Response:
    """Return JSON for one caller, which nobody keeps."""
    response = json_response(dumps(value), 200)
    response.headers["Cache-Control"] = "no-store"
    vary(response.headers, CALLER)
    return response
