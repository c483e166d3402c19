"""Writes of clients leave what rules in plain Python say, and nothing else."""

import os
import random
from collections import Counter

import pytest

from flask_records import RecordsError

from ..rights.conftest import opened
from ..rights.office import MODELS, ROWS
from .writes import body_of, FIELDS, PEOPLE, Refused, rows, RULES, World

NUMBER = 500 if os.environ.get("HYPOTHESIS_PROFILE", "quick") == "quick" else 10_000
WORLD = 50
"""The number of writes before there are new records."""

METHODS = ["create", "update", "patch", "patch", "patch", "remove"]


@pytest.fixture(scope="module")
def office(module_url):
    with opened(module_url, RULES) as office:
        yield office


def fill(office, tables):
    # PostgreSQL counts on from 100.
    ROWS_OF = {MODELS[path].__table__: tables[path] for path in MODELS}
    before = dict(ROWS)

    try:
        ROWS.update(ROWS_OF)
        office.fill()
    finally:
        ROWS.update(before)


def made_up_call(chance):
    path, method = (
        chance.choice(["projects", "members", "tasks"]),
        chance.choice(METHODS),
    )

    if path == "projects" and method in ("update", "remove"):
        method = "patch"

    id = None if method == "create" or chance.random() < 0.2 else chance.randint(1, 9)
    id = 1 + id % 3 if path == "projects" and id else id
    is_whole = method in ("create", "update")
    data = None if method == "remove" else body_of(chance, path, is_whole=is_whole)

    # Nobody replaces many records.
    if method == "update" and id is None:
        id = 1

    if method == "create" and chance.random() < 0.2:
        data = [data, body_of(chance, path, is_whole=True)]

    return path, method, id, data


def test_writes_are_those_of_the_rules(office):
    chance, answers = random.Random(43), Counter()

    for number in range(NUMBER):
        if number % WORLD == 0:
            tables = rows(number)
            fill(office, tables)
            world = World(tables)
            services = {
                (user["id"], path): office.service(path, user["id"])
                for user in PEOPLE
                for path in FIELDS
            }

        user = chance.choice(PEOPLE)
        path, method, id, data = made_up_call(chance)
        arguments = {"create": [data], "remove": [id]}.get(method, [id, data])
        new = []

        try:
            result = getattr(services[user["id"], path], method)(*arguments)
            status = 200
            listed = result if isinstance(result, list) else [result]
            new = [each["id"] for each in listed]
        except RecordsError as error:
            status = error.code
            new = [1000, 1001][: len(data) if isinstance(data, list) else 1]

        try:
            world.call(user, method, path, id, data, new)
            expected = 200
        except Refused as error:
            [expected] = error.args

        call = f"{number}: user {user['id']} {method} {path} {id} {data}"
        assert status == expected, call
        answers[method, status] += 1

        for each in FIELDS:
            assert office.stored(each) == world.tables[each], call

    assert {200, 400, 403, 404} <= {status for _, status in answers}, answers
    print(answers)
