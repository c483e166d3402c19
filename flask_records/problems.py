"""Problems of fields: the values of ``errors``, each with a code that never changes.

A problem is a phrase that follows the name of a field. This module makes all
problems of Flask-Records.
"""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping


class Problem(str):
    """A problem of a field: a phrase that follows its name, such as ``is required``,
    with a code for programs. In JSON it is the phrase, or all of it if
    ``RECORDS_ERRORS`` asks for codes.

    .. code-block:: python

        raise BadRequest("No.", errors={"size": Problem("is sold out", "sold_out")})

    :param text: The phrase.
    :param code: The code. An application may have its own.
    :param data: Values that a translation of the phrase needs, such as ``max=10``.
    """

    code: str
    """The code."""

    data: Mapping[str, t.Any]
    """Values that a translation of the phrase needs."""

    def __new__(cls, text: str, code: str = "invalid", **data: t.Any) -> Problem:
        """Return a problem."""
        problem = super().__new__(cls, text)
        problem.code, problem.data = code, data
        return problem

    @classmethod
    def of(cls, value: object) -> Problem:
        """Return a problem that is one already, or that an exception or a text is."""
        if isinstance(value, Exception) and value.args:
            value = value.args[0] if isinstance(value.args[0], Problem) else value

        return value if isinstance(value, Problem) else cls(str(value))

    def to_dict(self) -> dict[str, t.Any]:
        """Return the problem with its code in its form on the wire."""
        body: dict[str, t.Any] = {"code": self.code, "message": str(self)}
        return {**body, "data": dict(self.data)} if self.data else body


REQUIRED: t.Final = Problem("is required", "required")
NOT_NULL: t.Final = Problem("can't be null", "required")
READ_ONLY: t.Final = Problem("is read-only", "read_only")
UNKNOWN_FIELD: t.Final = Problem("is not a field", "unknown_field")
UNKNOWN_RELATIONSHIP: t.Final = Problem(
    "is not a relationship that can be populated", "unknown_relationship"
)
NO_SERVICE: t.Final = Problem("is shown by no service", "unknown_relationship")
OUT_OF_RANGE: t.Final = Problem("is out of range", "out_of_range")
NOT_FINITE: t.Final = Problem("is not a finite number", "out_of_range")
NO_ADDRESS: t.Final = Problem("is not an address for mails", "address")
EMPTY: t.Final = Problem("is empty", "empty")
NUL: t.Final = Problem("has a NUL character", "characters")
NOT_UNICODE: t.Final = Problem("is not valid Unicode text", "characters")
MISFIT: t.Final = Problem("does not fit its column", "misfit")
BROKEN_RULE: t.Final = Problem("breaks a rule of the database", "rule")
NO_PATTERN: t.Final = Problem("is not a regular expression", "pattern")
INCOMPARABLE: t.Final = Problem("can't be sorted or compared", "incomparable")
NULL_ONLY: t.Final = Problem("can be compared with null only", "incomparable")
NOT_THE_SAME: t.Final = Problem(
    "equals, or is '$in', FromRecord of fields of its type only", "incomparable"
)
SEVERAL: t.Final = Problem("can't be sorted by: a record has several", "incomparable")
SOMETIMES_HIDDEN: t.Final = Problem(
    "is not visible in every record, so that it can't be sorted by", "incomparable"
)
NOT_GROUPED: t.Final = Problem("has no groups or sums", "incomparable")
NO_SUCH_VALUE: t.Final = Problem("has no such value", "incomparable")
NO_UNIT: t.Final = Problem(
    "is grouped by hour, day, week, month, quarter or year", "operator"
)
NO_ZONE: t.Final = Problem(
    "takes the name of a time zone, for periods of '$group'", "operator"
)
NOT_IN_GROUPS: t.Final = Problem("is not in the groups", "unknown_field")
NOT_OF_GROUPS: t.Final = Problem("has no meaning for groups", "operator")
CHANGED: t.Final = Problem("can't be changed", "read_only")
UNORDERED: t.Final = Problem("can't be compared with less or greater", "incomparable")
OBJECT_OPERATOR: t.Final = Problem(
    "is compared with an object: operators begin with '$'", "operator"
)
BAD_ORDER: t.Final = Problem("is sorted by neither 1 nor -1", "operator")
NO_COUNT: t.Final = Problem(
    "must be a non-negative integer", "type", expected="integer"
)
NO_ORDER: t.Final = Problem(
    "takes fields, such as $sort[name]=1", "type", expected="object"
)
NO_PAIR: t.Final = Problem("is not a list of two values", "operator")
NO_ITEMS: t.Final = Problem("has no lists that are compared", "operator")
NO_ITEM: t.Final = Problem("is not text, a number, true or false", "operator")
NOT_UNIQUE: t.Final = Problem("has to be unique", "not_unique")
NOT_KEPT: t.Final = Problem("is not kept by the database", "not_kept")
REFERRED_TO: t.Final = Problem("is still referred to", "referred_to")
NO_RECORD: t.Final = Problem("refers to a record that is not there", "reference")
NO_SCOPES: t.Final = Problem("is not a list of services and methods", "reference")
EXCLUDED: t.Final = Problem("conflicts with another record", "exclusion")
NESTED_TOO_DEEP: t.Final = Problem("nests too deep", "too_deep")
NOT_VALID: t.Final = Problem("is not valid", "invalid")
TOO_MANY_PROBLEMS: t.Final = Problem("has too many problems to name", "more")
TOO_LONG: t.Final = Problem("is too long", "too_long")
MORE_DIGITS: t.Final = Problem("has more digits than SQLite keeps", "too_precise")
ROUNDED: t.Final = Problem("has more than 15 digits: send it as text", "too_precise")

NO_TEXT: t.Final = Problem("is not text", "type", expected="text")
NO_INTEGER: t.Final = Problem("is not a whole number", "type", expected="integer")
NO_NUMBER: t.Final = Problem("is not a number", "type", expected="number")
NO_BOOLEAN: t.Final = Problem("is neither true nor false", "type", expected="boolean")
NO_MOMENT: t.Final = Problem("is not an ISO 8601 time", "type", expected="date-time")
NO_DATE: t.Final = Problem("is not an ISO 8601 date", "type", expected="date")
NO_TIME: t.Final = Problem(
    "is not an ISO 8601 time of day without a zone", "type", expected="time"
)
NO_INTERVAL: t.Final = Problem(
    "is not a number of seconds", "type", expected="interval"
)
NO_UUID: t.Final = Problem("is not a UUID", "type", expected="uuid")
NO_BASE64: t.Final = Problem("is not base64", "type", expected="base64")
FILE: t.Final = Problem("is a file, or has one", "type", expected="JSON")
NO_LIST: t.Final = Problem("is not a list", "type", expected="list")
NO_OBJECT: t.Final = Problem("is not an object", "type", expected="object")


def too_long(maximum: int, unit: str) -> Problem:
    """Return the problem of a value with more than a number of things."""
    text = f"has more than {maximum} {unit}"
    return Problem(text, "too_long", max=maximum, unit=unit)


def too_short(minimum: int, unit: str) -> Problem:
    """Return the problem of a value with fewer than a number of things."""
    text = "is empty" if minimum == 1 else f"has fewer than {minimum} {unit}"
    return Problem(text, "too_short", min=minimum, unit=unit)


def too_deep(maximum: int) -> Problem:
    """Return the problem of a value that nests too deep."""
    return Problem(f"nests deeper than {maximum} levels", "too_deep", max=maximum)


def too_many_places(maximum: int) -> Problem:
    """Return the problem of a number with more than a number of decimal places."""
    text = f"has more than {maximum} decimal places"
    return Problem(text, "too_precise", max=maximum)


def no_names(parameter: str) -> Problem:
    """Return the problem of a parameter of a query that does not list names."""
    text = f"takes names, such as {parameter}[]=name"
    return Problem(text, "type", expected="list")


def no_queries(parameter: str) -> Problem:
    """Return the problem of a group of a query that does not list queries."""
    text = f"takes a list of queries, such as {parameter}[0][a]=1"
    return Problem(text, "type", expected="list")


def out_of_range(minimum: int, maximum: int) -> Problem:
    """Return the problem of a number that is not between two others."""
    return Problem("is out of range", "out_of_range", min=minimum, max=maximum)


def no_choice(choices: Iterable[str]) -> Problem:
    """Return the problem of a value outside of a list."""
    values = list(choices)
    return Problem(f"is not one of {', '.join(values)}", "choice", choices=values)


def not_for(operator: str) -> Problem:
    """Return the problem of an operator that is for other fields."""
    return Problem(f"can't be compared by {operator}", "operator")


def no_record(record: str) -> Problem:
    """Return the problem of an identifier that names no record."""
    return Problem(f"names {record}, which is not there", "reference")


def add_codes(errors: t.Any) -> t.Any:
    """Return the problems of an error, if they are by field, with their codes."""
    if not isinstance(errors, Mapping):
        return errors

    return {
        name: Problem.of(value).to_dict() if isinstance(value, str) else value
        for name, value in errors.items()
    }
