"""A reference of MongoDB's queries in Python, which tells what a find answers."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

PAGING = ("$limit", "$skip", "$sort", "$select")
WILDCARDS = re.compile(r"\\(.)|(%)|(_)|(.)", re.DOTALL)


@dataclass(frozen=True)
class Comparison:
    """The way in which a database compares the values of a field."""

    key: Callable[[Any], Any] = lambda value: value
    """Returns what is equal and ordered as the values are."""

    any_case: Callable[[str], str] = lambda text: "".join(map(str.lower, text))
    """Returns what is equal if texts differ in their case only."""

    case: Callable[[str], str] = lambda text: text
    """Returns what is equal if LIKE finds texts equal."""

    flags: int = 0
    """The flags of regular expressions."""


def same_document(value):
    """Return what is equal if two JSON documents are."""

    def plain(value):
        # Numbers of more than 64 bits are floats to most programs.
        if type(value) is int and not -(2**63) <= value < 2**63:
            value = float(value) if abs(value) < 2**1023 else value

        if isinstance(value, float) and abs(value) < 2**63 and value.is_integer():
            return int(value)

        if isinstance(value, list):
            return [plain(item) for item in value]

        if isinstance(value, dict):
            return {name: plain(item) for name, item in value.items()}

        return value

    return json.dumps(plain(value), sort_keys=True)


def _equals(value, operand, how):
    if value is None or operand is None:
        return value is operand

    return how.key(value) == how.key(operand)


def _is_in(value, operands, how):
    return any(_equals(value, operand, how) for operand in operands)


def _ordered(compare):
    def test(value, operand, how):
        # Null is neither less nor greater than anything.
        if value is None or operand is None:
            return False

        return compare(how.key(value), how.key(operand))

    return test


def _is_between(value, bounds, how):
    low, high = map(how.key, bounds)
    return value is not None and low <= how.key(value) <= high


def _like(value, pattern, how):
    return value is not None and _is_like(how.case(value), how.case(pattern))


def _is_like(value, pattern):
    def part(match):
        escaped, percent, underscore, plain = match.groups()
        return ".*" if percent else "." if underscore else re.escape(escaped or plain)

    expression = WILDCARDS.sub(part, pattern)
    return bool(re.fullmatch(expression, value, re.DOTALL))


def _ilike(value, pattern, how):
    return value is not None and _is_like(how.any_case(value), how.any_case(pattern))


def _regex(value, expression, how):
    return value is not None and bool(re.search(expression, value, how.flags))


def _search(value, text, how):
    return value is not None and how.any_case(text) in how.any_case(value)


OPERATORS = {
    "$eq": _equals,
    "$ne": lambda *arguments: not _equals(*arguments),
    "$in": _is_in,
    "$nin": lambda *arguments: not _is_in(*arguments),
    "$lt": _ordered(operator.lt),
    "$lte": _ordered(operator.le),
    "$gt": _ordered(operator.gt),
    "$gte": _ordered(operator.ge),
    "$between": _is_between,
    "$null": lambda value, flag, how: (value is None) is flag,
    "$like": _like,
    "$notLike": lambda *arguments: not _like(*arguments),
    "$ilike": _ilike,
    "$regex": _regex,
    "$search": _search,
}
"""Functions of the value of a field, the operand and the comparison, by operator."""

GROUPS = {"$and": all, "$or": any, "$nor": lambda results: not any(results)}
"""The groups of queries: functions of what each of them gives."""


class Oracle:
    """Finds records without a database.

    :param records: The records, typed.
    :param comparisons: The comparison of each field that is not compared as in Python.
    """

    def __init__(self, records, comparisons):
        self.records = sorted(records, key=operator.itemgetter("id"))
        self._comparisons = comparisons

    def find(self, query):
        """Return the records that match a query, in its order but not cut."""
        found = [record for record in self.records if self.matches(query, record)]

        sort = query.get("$sort", {})

        # Sorting keeps the order of equal values: that of the identifiers, in the
        # direction of the last field.
        if -1 in [*sort.values()][-1:]:
            found.reverse()

        for name, way in reversed(sort.items()):
            found.sort(key=self._place(name), reverse=way < 0)

        return found

    def page(self, query, *, default, maximum):
        """Return the total of a query, and the records on the page that it asks for."""
        found, skip = self.find(query), query.get("$skip", 0)
        limit = min(query.get("$limit", default), maximum)
        return len(found), found[skip : skip + limit]

    def matches(self, query, record):
        """Return whether a record matches a query."""
        return all(
            self._term(name, value, record)
            for name, value in query.items()
            if name not in PAGING
        )

    def _term(self, name, value, record):
        if name == "$not":
            return not self.matches(value, record)

        if name in GROUPS:
            return GROUPS[name](self.matches(each, record) for each in value)

        return self._meets(record[name], value, self._comparison(name))

    def _meets(self, value, condition, how):
        if isinstance(condition, list):
            condition = {"$in": condition}
        elif not isinstance(condition, dict):
            condition = {"$eq": condition}

        return all(
            not self._meets(value, operand, how)
            if name == "$not"
            else OPERATORS[name](value, operand, how)
            for name, operand in condition.items()
        )

    def _comparison(self, name):
        return self._comparisons.get(name, Comparison())

    def _place(self, name):
        key = self._comparison(name).key

        def place(record):
            value = record[name]
            # Null is less than all other values.
            return (False, 0) if value is None else (True, key(value))

        return place
