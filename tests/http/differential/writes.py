"""Writes of five users that are made up, and a reference of what they leave, worked out
in Python with the rules of the services.
"""

import random
from copy import deepcopy

from flask_records import Change, FromUser

from ..rights.office import MEMBERS, ORG, OWNERS, WRITES

OWN = {"ownerId": FromUser("id")}
OF_OWNERS = {"members.userId": FromUser("id"), "members.role": "owner"}
DRAFTS = {**ORG, "$or": [OWN, {"status": "draft"}]}

RULES = {
    "people": {"readable": ORG, "allow": dict.fromkeys(WRITES, False)},
    "projects": {"readable": ORG, "allow": {"create": ORG, "patch": OF_OWNERS}},
    "members": {"readable": MEMBERS, "allow": dict.fromkeys(WRITES, OWNERS)},
    "tasks": {
        "readable": ORG,
        "allow": {
            "create": {**ORG, **MEMBERS},
            "update": OWN,
            "patch": Change(of=DRAFTS, to={**ORG, **MEMBERS}),
            "remove": lambda user: {"ownerId": user["id"], "orgId": user["orgId"]},
        },
    },
}

PEOPLE = [
    {"id": id, "name": f"p{id}", "password": None, "orgId": 1 + id % 2}
    for id in range(1, 6)
]

# The fields of a body, with the values that it may have.
FIELDS = {
    "projects": {"name": ["x", "y"], "orgId": [1, 2]},
    "members": {
        "projectId": [1, 2, 3, 9],
        "userId": [1, 2, 3, 4, 5, 9],
        "role": ["owner", "member"],
        "nickname": ["n", None],
    },
    "tasks": {
        "title": ["x", "y"],
        "status": ["draft", "done"],
        "orgId": [1, 2],
        "ownerId": [None, 1, 2, 3, 4, 5, 9],
        "projectId": [None, 1, 2, 3, 9],
    },
}

OPTIONAL = {"tasks": {"status": "draft", "ownerId": None, "projectId": None}}
OPTIONAL["members"] = {"nickname": None}

KEYS = {
    "tasks": {"ownerId": "people", "projectId": "projects"},
    "members": {"userId": "people", "projectId": "projects"},
}


def rows(seed):
    """Records to begin with, by their services."""
    chance = random.Random(seed)
    projects = [{"id": id, "name": "p", "orgId": 1 + id % 2} for id in (1, 2, 3)]
    members = [
        {
            **{"id": id, "projectId": chance.choice([1, 2, 3])},
            **{"userId": chance.randint(1, 5), "nickname": None},
            "role": chance.choice(["owner", "member"]),
        }
        for id in range(1, 9)
    ]
    tasks = [
        {
            **{"id": id, "title": "t", "status": chance.choice(["draft", "done"])},
            **{"orgId": chance.choice([1, 2]), "ownerId": chance.randint(1, 5)},
            "projectId": chance.choice([None, 1, 2, 3]),
        }
        for id in range(1, 9)
    ]
    return {"people": PEOPLE, "projects": projects, "members": members, "tasks": tasks}


def body_of(chance, path, *, is_whole):
    fields = dict(FIELDS[path])
    number = chance.randint(1, 2)
    names = fields if is_whole else chance.sample(sorted(fields), number)
    return {n: chance.choice(fields[n]) for n in names}


class Refused(Exception):
    """The call is answered with this status, and writes nothing."""


class World:
    """The records, and what the calls of a user make of them."""

    def __init__(self, tables):
        self.tables = {
            path: {row["id"]: dict(row) for row in rows}
            for path, rows in tables.items()
        }

    def call(self, user, method, path, id, data, ids_of_new):
        """Write, or raise :exc:`Refused`. Nothing is written then."""
        self.user, kept = user, deepcopy(self.tables)

        try:
            getattr(self, f"_{method}")(path, id, data, ids_of_new)
        except Refused:
            self.tables = kept
            raise

    def sees(self, path, row):
        if path == "members":
            return self._is_member(row["projectId"])

        return row["orgId"] == self.user["orgId"]

    def _is_member(self, project, role=None, beside=()):
        return project is not None and any(
            each["projectId"] == project
            and each["userId"] == self.user["id"]
            and role in (None, each["role"])
            for each in self.tables["members"].values()
            if each["id"] not in beside
        )

    def reaches(self, method, path, row):
        """Return ``True`` if the rules let the user reach a record by a method."""
        return self.sees(path, row) and self._allowed(method, path, row)

    def _allowed(self, method, path, row, beside=()):
        own = row.get("ownerId") == self.user["id"]
        of_org = row.get("orgId") == self.user["orgId"]

        if path == "members":
            return self._is_member(row["projectId"], "owner", beside)

        if path == "projects":
            return of_org if method == "create" else self._is_member(row["id"], "owner")

        if method == "patch":
            return of_org and (own or row["status"] == "draft")

        return own and (of_org or method == "update")

    def may_leave(self, method, path, row, written, beside):
        """Return ``True`` if the rules allow a record as a write has left it."""
        if path == "tasks" and method in ("create", "patch"):
            is_asked = method == "create" or {"orgId", "projectId"} & written
            is_member = self._is_member(row["projectId"])
            return not is_asked or (row["orgId"] == self.user["orgId"] and is_member)

        if path == "tasks":
            return self.sees(path, row) and row["ownerId"] == self.user["id"]

        if path == "projects":
            is_asked = method == "create" or "orgId" in written
            is_owner = method == "create" or self._allowed("patch", path, row)
            return is_owner and (not is_asked or row["orgId"] == self.user["orgId"])

        is_asked = method != "patch" or "projectId" in written
        is_seen = method == "create" or self._is_member(row["projectId"], None, beside)
        is_owner = self._is_member(row["projectId"], "owner", beside)
        return not is_asked or (is_seen and is_owner)

    def _unseen(self, path, data):
        """The names of the fields that refer to nothing that the user finds."""
        unseen = set()

        for name, other in KEYS.get(path, {}).items():
            found = self.tables[other].get(data.get(name))

            if data.get(name) is not None and not (found and self.sees(other, found)):
                unseen.add(name)

        return unseen

    def _create(self, path, id, data, ids_of_new):
        bodies = data if isinstance(data, list) else [data]

        if any(self._unseen(path, body) for body in bodies):
            raise Refused(400)

        for new, body in zip(ids_of_new, bodies, strict=True):
            self.tables[path][new] = {"id": new, **OPTIONAL.get(path, {}), **body}

        self._check("create", path, ids_of_new, frozenset())

    def _check(self, method, path, ids, written):
        rows = [self.tables[path][id] for id in ids]

        if not all(self.may_leave(method, path, row, written, ids) for row in rows):
            raise Refused(403)

    def _found(self, method, path, id):
        rows = self.tables[path].values()
        found = [row["id"] for row in rows if self.reaches(method, path, row)]

        if id is None:
            return found

        if id not in found:
            raise Refused(404)

        return [id]

    def _update(self, path, id, data, ids_of_new):
        self._write("update", path, id, {**OPTIONAL.get(path, {}), **data}, data)

    def _patch(self, path, id, data, ids_of_new):
        self._write("patch", path, id, data, data)

    def _write(self, method, path, id, values, data):
        unseen = self._unseen(path, data)

        if unseen and id is None:
            raise Refused(400)

        ids = self._found(method, path, id)

        if any(self.tables[path][ids[0]][name] != data[name] for name in unseen):
            raise Refused(400)

        for each in ids:
            self.tables[path][each].update(values)

        self._check(method, path, ids, frozenset(data))

    def _remove(self, path, id, data, ids_of_new):
        for each in self._found("remove", path, id):
            del self.tables[path][each]
