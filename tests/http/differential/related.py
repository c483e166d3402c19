"""Queries over the related models of a help desk that are made up, and a reference of
what they find, worked out in Python with the rules of the services.
"""

import random

from hypothesis import strategies as st

from ..relations.desk import (
    Comment,
    COMMENTS,
    Organisation,
    Person,
    Tag,
    tagging,
    Ticket,
    ticket,
)
from .oracle import Comparison, GROUPS, OPERATORS, PAGING

chance = random.Random(33)
NAMES = ["ash", "birch", "cedar"]
ONE_TO_FOUR = range(1, 5)


def some(*values):
    return chance.choice(values)


ROWS = {
    "organisations": [
        {"id": id, "name": some(*NAMES), "secret": some(*NAMES)} for id in ONE_TO_FOUR
    ],
    "people": [
        {
            "id": id,
            "name": some(*NAMES),
            "agent": id == 1,
            "password": None,
            "organisationId": 1 + id % 3,
        }
        for id in ONE_TO_FOUR
    ],
    "tags": [
        {"id": id, "name": some(*NAMES), "color": some(*NAMES)} for id in ONE_TO_FOUR
    ],
    "tickets": [
        ticket(
            id,
            *(some(1, 2, 3), some("open", "closed"), some(None, 1, 2, 7)),
            assignee=some(None, *ONE_TO_FOUR),
            parent=some(None, *range(1, id)),
        )
        for id in range(1, 11)
    ],
    "comments": [
        {**each, "id": id, "ticketId": some(*range(1, 11)), "internal": id % 3 == 0}
        for id, each in enumerate(COMMENTS * 3, 1)
    ],
}
TAGGINGS = {(some(*range(1, 11)), some(*ONE_TO_FOUR)) for _ in range(15)}
TABLES = {
    Organisation.__table__: ROWS["organisations"],
    Person.__table__: ROWS["people"],
    Tag.__table__: ROWS["tags"],
    Ticket.__table__: ROWS["tickets"],
    tagging: [{"ticket": ticket, "tag": tag} for ticket, tag in sorted(TAGGINGS)],
    Comment.__table__: ROWS["comments"],
}
VIEWERS = {row["id"]: row for row in ROWS["people"]}

KINDS = {
    "organisations": {"id": "number", "name": "text"},
    "people": {"id": "number", "name": "text", "organisationId": "number"},
    "tags": {"id": "number", "name": "text", "color": "text"},
    "tickets": {
        **{"id": "number", "status": "text", "cost": "number"},
        **{"organisationId": "number", "assigneeId": "number", "parentId": "number"},
    },
    "comments": {"id": "number", "text": "text", "ticketId": "number"},
}
"""The fields that queries name, by service."""

RELATIONS = {
    "organisations": {},
    "tags": {},
    "people": {"organisation": ("organisations", "organisationId")},
    "tickets": {
        "organisation": ("organisations", "organisationId"),
        "assignee": ("people", "assigneeId"),
        "parent": ("tickets", "parentId"),
        "tags": ("tags", None),
        "comments": ("comments", None),
    },
    "comments": {"ticket": ("tickets", "ticketId")},
}
"""The service at the end of each relationship, and the key of one that is to one."""

VALUES = {"number": [None, 0, 1, 2, 3, 7], "text": [*NAMES, "open", "closed", "hi"]}


def names_of(service, steps=3, *, is_sorted=False):
    """The names that queries may use, with paths, and the kinds of their values."""
    names = dict(KINDS[service])

    for name, (other, key) in RELATIONS[service].items() if steps else ():
        if key or not is_sorted:
            there = names_of(other, steps - 1, is_sorted=is_sorted)
            names |= {f"{name}.{rest}": kind for rest, kind in there.items()}

    return names


def conditions(kind):
    value = st.sampled_from(VALUES[kind])
    lists = st.lists(value, max_size=3)
    pairs = {"$eq": value, "$ne": value, "$in": lists, "$nin": lists}
    pairs["$null"] = st.booleans()
    pairs |= {"$lt": value, "$gte": value} if kind == "number" else {"$like": value}
    plain = st.sampled_from(sorted(pairs)).flatmap(
        lambda operator: pairs[operator].map(lambda operand: {operator: operand})
    )
    return plain | value | plain.map(lambda condition: {"$not": condition})


def wheres(service):
    names = names_of(service)
    short = sorted(names, key=lambda name: (name.count("."), name))
    terms = st.dictionaries(
        st.sampled_from(short), st.just(None), min_size=1, max_size=3
    ).flatmap(
        lambda chosen: st.fixed_dictionaries(
            {name: conditions(names[name]) for name in chosen}
        )
    )

    def groups(inner):
        lists = st.lists(inner, min_size=1, max_size=2)
        return (
            st.builds(
                lambda name, items: {name: items},
                st.sampled_from(["$or", "$and", "$nor"]),
                lists,
            )
            | inner.map(lambda term: {"$not": term})
            | st.builds(lambda first, second: first | second, inner, inner)
        )

    return st.recursive(terms, groups, max_leaves=3)


def queries(service):
    ways = st.sampled_from([1, -1])
    names = sorted(names_of(service, is_sorted=True))
    sorts = st.dictionaries(st.sampled_from(names), ways, max_size=2)
    return st.builds(
        lambda where, sort: {**where, "$sort": sort}, wheres(service), sorts
    )


class Reference:
    """The records that a viewer finds.

    :param viewer: The record of a person.
    """

    def __init__(self, viewer):
        self.viewer = viewer

    def sees(self, service, record):
        """Return whether the viewer reads a record."""
        if self.viewer["agent"]:
            return True

        own = self.viewer["organisationId"]

        if service == "comments":
            ticket = self.others(service, "ticket", record)[0]
            return not record["internal"] and ticket["organisationId"] == own

        return service != "tickets" or record["organisationId"] == own

    def shows(self, service, name, record):
        """Return whether a record shows a field to the viewer."""
        own = self.viewer["organisationId"]
        is_ruled = (service, name) == ("people", "name") and not self.viewer["agent"]
        return not is_ruled or record["organisationId"] == own

    def others(self, service, name, record):
        """The records at the end of a relationship."""
        other, key = RELATIONS[service][name]

        if key:
            return [row for row in ROWS[other] if row["id"] == record[key]]

        if other == "tags":
            return [row for row in ROWS[other] if (record["id"], row["id"]) in TAGGINGS]

        return [row for row in ROWS[other] if row["ticketId"] == record["id"]]

    def find(self, service, query):
        """The records that the viewer finds, in order."""
        found = [
            row
            for row in ROWS[service]
            if self.sees(service, row) and self.matches(service, query, row)
        ]
        sort = query.get("$sort", {})

        if -1 in [*sort.values()][-1:]:
            found.reverse()

        for name, way in reversed(sort.items()):
            found.sort(key=lambda row: self._place(service, name, row), reverse=way < 0)

        return found

    def matches(self, service, query, record):
        related, results = {}, []

        for name, value in query.items():
            first, dot, rest = name.partition(".")

            if name in PAGING:
                continue
            elif name == "$not":
                results.append(not self.matches(service, value, record))
            elif name in GROUPS:
                each = [self.matches(service, item, record) for item in value]
                results.append(GROUPS[name](each))
            elif dot:
                related.setdefault(first, {})[rest] = value
            else:
                is_shown = self.shows(service, name, record)
                results.append(meets(record[name], value, is_shown))

        return all(results) and all(
            any(
                self.sees(other, row) and self.matches(other, inner, row)
                for row in self.others(service, name, record)
            )
            for name, inner in related.items()
            for other in [RELATIONS[service][name][0]]
        )

    def _place(self, service, name, record):
        first, dot, rest = name.partition(".")

        if not dot:
            return (False, 0) if record[name] is None else (True, record[name])

        other = RELATIONS[service][first][0]
        rows = self.others(service, first, record)
        seen = [row for row in rows if self.sees(other, row)]
        return self._place(other, rest, seen[0]) if seen else (False, 0)


def meets(value, condition, is_shown):
    """Return whether a value meets a condition, if the record shows it."""
    if not isinstance(condition, dict):
        condition = {"$eq": condition}

    return all(
        not meets(value, operand, is_shown)
        if name == "$not"
        else is_shown and OPERATORS[name](value, operand, Comparison())
        for name, operand in condition.items()
    )


def grouped(rows, keys, functions):
    """The groups of records, in the order of the keys, null first."""
    groups = {}

    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)

    def place(key):
        return [(False, 0) if each is None else (True, each) for each in key]

    return [
        {
            **dict(zip(keys, key, strict=True)),
            **{
                name: {field: FUNCTIONS[name](values_of(groups[key], field))}
                for name, field in functions.items()
            },
        }
        for key in sorted(groups, key=place)
    ]


def values_of(rows, field):
    return [row[field] for row in rows if row[field] is not None]


FUNCTIONS = {
    "$count": len,
    "$sum": lambda values: sum(values) if values else None,
    "$min": lambda values: min(values, default=None),
    "$max": lambda values: max(values, default=None),
}
