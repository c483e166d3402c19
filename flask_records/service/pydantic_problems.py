"""The errors of pydantic, as problems of fields."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from itertools import islice

from pydantic import ValidationError

from .. import problems
from ..problems import Problem
from ..query.bounds import MAX_ERRORS, shortened

if t.TYPE_CHECKING:
    from collections.abc import Callable

FIXED: t.Final[Mapping[str, Problem]] = {
    "missing": problems.REQUIRED,
    "extra_forbidden": problems.UNKNOWN_FIELD,
    "unexpected_keyword_argument": problems.UNKNOWN_FIELD,
    "string_type": problems.NO_TEXT,
    "string_unicode": problems.NOT_UNICODE,
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), problems.NO_INTEGER),
    "int_parsing_size": problems.OUT_OF_RANGE,
    **dict.fromkeys(
        ("float_type", "float_parsing", "decimal_type", "decimal_parsing"),
        problems.NO_NUMBER,
    ),
    "finite_number": problems.NOT_FINITE,
    **dict.fromkeys(("bool_type", "bool_parsing"), problems.NO_BOOLEAN),
    **dict.fromkeys(
        ("datetime_type", "datetime_parsing", "datetime_from_date_parsing"),
        problems.NO_MOMENT,
    ),
    **dict.fromkeys(
        ("date_type", "date_parsing", "date_from_datetime_parsing"), problems.NO_DATE
    ),
    "date_from_datetime_inexact": problems.TIME_NOT_DATE,
    **dict.fromkeys(("time_type", "time_parsing"), problems.NO_TIME),
    **dict.fromkeys(("time_delta_type", "time_delta_parsing"), problems.NO_INTERVAL),
    **dict.fromkeys(("uuid_type", "uuid_parsing"), problems.NO_UUID),
    **dict.fromkeys(("bytes_type", "base64_decode"), problems.NO_BASE64),
    **dict.fromkeys(("list_type", "tuple_type", "set_type"), problems.NO_LIST),
    **dict.fromkeys(
        ("dict_type", "mapping_type", "model_type", "dataclass_type"),
        problems.NO_OBJECT,
    ),
    "recursion_loop": problems.NESTED_TOO_DEEP,
    "recursion_depth_exceeded": problems.NESTED_TOO_DEEP,
}
"""The problems of errors that always say the same."""

NO_DATA: t.Final = object()
"""A value that is not looked at."""

LENGTHS: t.Final[Mapping[str, tuple[str, Callable[[int, str], Problem], str]]] = {
    "string_too_long": ("max_length", problems.too_long, "characters"),
    "string_too_short": ("min_length", problems.too_short, "characters"),
    "bytes_too_long": ("max_length", problems.too_long, "bytes"),
    "bytes_too_short": ("min_length", problems.too_short, "bytes"),
    "too_long": ("max_length", problems.too_long, "items"),
    "too_short": ("min_length", problems.too_short, "items"),
}
"""The limits of lengths, and the problems of errors about them, with their units."""

CODES: t.Final[Mapping[str, str]] = {
    **dict.fromkeys(("enum", "literal_error"), "choice"),
    **dict.fromkeys(
        ("greater_than", "greater_than_equal", "less_than", "less_than_equal"),
        "out_of_range",
    ),
    **dict.fromkeys(
        ("decimal_max_digits", "decimal_max_places", "decimal_whole_digits"),
        "too_precise",
    ),
}
"""The codes of errors whose text is that of pydantic."""

LIMITS: t.Final[Mapping[str, str]] = {"ge": "min", "le": "max"}
"""The names of limits in the data of problems, by those of pydantic."""

MAX_LISTED: t.Final = 1000
"""The number of errors up to which they are named: half a million take a second."""


def problems_of(error: ValidationError, data: t.Any = NO_DATA) -> dict[str, Problem]:
    """Return the problems of an error by their paths. That of a validator of a whole
    model has the path of the model, which is empty for the outermost one, unless its
    data names a ``field``.

    :param data: The value that has them, to leave names of types out of the paths. They
        stay by default.
    """
    if error.error_count() > MAX_LISTED:
        return {"": problems.TOO_MANY_PROBLEMS}

    errors = error.errors(include_url=False)
    found: dict[str, Problem] = {}

    for each in islice(errors, MAX_ERRORS + 1):
        details = t.cast("dict[str, t.Any]", each)
        problem = _problem(details)
        place = _place(details, data)

        if "field" in problem.data:
            place.append(str(problem.data["field"]))

        found.setdefault(shortened(".".join(place)), problem)

    return found


def _place(error: Mapping[str, t.Any], data: t.Any) -> list[str]:
    """Return the path of an error in a value, without the names of the types that
    pydantic has tried there.
    """
    path, place = error["loc"], []

    for index, part in enumerate(path, 1):
        # The last part of such a path is not there.
        is_missing = index == len(path) and error["type"] == "missing"

        if _has_item(data, part):
            data = data[part]
        elif data is not NO_DATA and not is_missing:
            continue

        place.append(str(part))

    return place


def _has_item(value: t.Any, key: int | str) -> bool:
    if isinstance(value, (list, tuple)):
        return isinstance(key, int) and key < len(value)

    return isinstance(value, Mapping) and key in value


def _problem(error: Mapping[str, t.Any]) -> Problem:
    kind, context = error["type"], error.get("ctx", {})
    fixed = FIXED.get(kind)

    if fixed is not None:
        return fixed

    if kind in LENGTHS:
        limit, make, unit = LENGTHS[kind]
        return make(context[limit], unit)

    if kind == "string_pattern_mismatch":
        return problems.no_match(context["pattern"])

    # A validator has raised it. Its text is that of the application.
    if isinstance(context.get("error"), Exception):
        problem = Problem.of(context["error"])
        return problem if problem else problems.NOT_VALID

    message = str(error["msg"])
    is_obligation = message.startswith("Input should ")
    text = message[len("Input ") :] if is_obligation else f"is not valid: {message}"
    limits = {name: context[key] for key, name in LIMITS.items() if key in context}
    return Problem(shortened(text), CODES.get(kind, "invalid"), **limits)
