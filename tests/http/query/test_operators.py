"""The records that operators find, on SQLite."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import sessionmaker

from flask_records import Params
from flask_records import SQLAlchemyService
from flask_records import Transaction

from ...models_operators import Base
from ...models_operators import Person
from ...models_operators import WHITELIST


@pytest.fixture(scope="module")
def engine():
    engine = sa.create_engine("sqlite://", poolclass=sa.pool.StaticPool)
    Base.metadata.create_all(engine)
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def found(engine):
    """A function that returns the values that meet a condition, on SQLite."""
    make = sessionmaker(engine)
    people = SQLAlchemyService(Person, session=make, whitelist=WHITELIST)

    def found(values, operator="", value=None, field="name", query=None):
        with make.begin() as session:
            session.execute(sa.delete(Person))
            session.add_all([Person(**{field: each}) for each in values])

        with Transaction():
            records = people.find(Params(query or {field: {operator: value}}))

        return [record[field] for record in records]

    return found


@pytest.mark.parametrize(
    "text", ["{", "NaN", "[" * 100_000, "1" * 5000, "1e400", "'a'", "\x00"]
)
def test_text_of_another_program_in_a_column_of_documents(engine, text):
    service = SQLAlchemyService(
        Person, session=sessionmaker(engine), paginate={"default": 1}
    )

    with engine.begin() as connection:
        connection.execute(sa.delete(Person))
        connection.execute(
            sa.text("INSERT INTO person (extra) VALUES (:x)"), {"x": text}
        )

    with Transaction():
        assert service.find(Params({"extra": "[1]", "$limit": 0})).total == 0


@pytest.mark.parametrize(
    ("operator", "value", "expected"),
    [
        ("$like", "ann%", ["ann"]),
        ("$like", "A%", ["Ann", "ANN"]),
        ("$like", "_nn", ["Ann", "ann"]),
        ("$notLike", "A%", ["ann", "Bob", None]),
        ("$ilike", "aN_", ["Ann", "ann", "ANN"]),
        ("$search", "N", ["Ann", "ann", "ANN"]),
        ("$regex", "^[AB]", ["Ann", "ANN", "Bob"]),
        ("$eq", "ann", ["ann"]),
        ("$ne", "ann", ["Ann", "ANN", "Bob", None]),
        ("$nin", ["ann", "Ann"], ["ANN", "Bob", None]),
        ("$nin", [], ["Ann", "ann", "ANN", "Bob", None]),
        ("$in", [], []),
        ("$in", [None, "Bob"], ["Bob", None]),
        ("$nin", [None, "Bob"], ["Ann", "ann", "ANN"]),
    ],
)
def test_upper_and_lower_case_and_null(found, operator, value, expected):
    assert found(["Ann", "ann", "ANN", "Bob", None], operator, value) == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("%*%", ["a*b"]),
        ("%?%", ["a?b"]),
        ("%[%", ["a[b"]),
        ("%]%", ["a]b"]),
        ("a[*]b", []),
        ("a[^x]b", []),
        (r"a\%b", ["a%b"]),
        (r"a\_b", ["a_b"]),
        (r"a\\b", ["a\\b"]),
        (r"a\*b", ["a*b"]),
        ("a_b", ["a*b", "a?b", "a[b", "a]b", "a%b", "a_b", "a\\b", "a\nb", "aéb"]),
        ("a%b", ["a*b", "a?b", "a[b", "a]b", "a%b", "a_b", "a\\b", "a\nb", "aéb"]),
        ("a\nb", ["a\nb"]),
        ("%é%", ["aéb"]),
    ],
)
def test_like_knows_two_wildcards_and_an_escape(found, pattern, expected):
    names = ["a*b", "a?b", "a[b", "a]b", "a%b", "a_b", "a\\b", "a\nb", "aéb"]

    assert found(names, "$like", pattern) == expected


@pytest.mark.parametrize("value", ["%", "_", "\\", "*", "?", "[", "'", "É", "ß", "\n"])
def test_search_knows_no_wildcards(found, value):
    names = [f"x{value}y", "xy"]

    assert found(names, "$search", value) == names[:1]


def test_search_knows_upper_and_lower_case_of_all_letters(found):
    assert found(["Ärger", "Straße"], "$search", "äR") == ["Ärger"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("ΟΔΟΣ", ["ΟΔΟΣ", "οδοσ"]),
        ("Σ", ["ΟΔΟΣ", "οδοσ"]),
        ("ς", ["οδος"]),
        ("δοσ", ["ΟΔΟΣ", "οδοσ"]),
    ],
)
@pytest.mark.parametrize(("operator", "form"), [("$search", "{}"), ("$ilike", "%{}%")])
def test_sigma_is_the_same_letter_everywhere(found, text, names, operator, form):
    stored = ["ΟΔΟΣ", "οδος", "οδοσ"]

    assert found(stored, operator, form.format(text)) == names


@pytest.mark.parametrize("size", [1, 2, 33, 1100])
def test_queries_of_any_width_are_run(found, size):
    values = ["a", "b", "c"]
    terms = [{"$ne": f"x{number}"} for number in range(size)]
    names = [{"name": term} for term in [*terms, {"$ne": "a"}]]
    queries = {
        "$or": ({"$or": names}, values),
        "$and": ({"$and": names}, ["b", "c"]),
        "nested": ({"$and": [*names, {"$or": [{"$and": names}]}]}, ["b", "c"]),
    }

    answers = {
        name: found(values, query=query, field="name")
        for name, (query, _) in queries.items()
    }

    assert answers == {name: names for name, (_, names) in queries.items()}


def test_search_for_nothing_matches_all_text(found):
    assert found(["a", "", None], "$search", "") == ["a", ""]


@pytest.mark.parametrize(
    ("operator", "value", "expected"),
    [
        ("$eq", '{"a": [1]}', [{"a": [1]}]),
        ("$eq", "1", [1]),
        ("$eq", '"1"', ["1"]),
        ("$eq", {"a": [1]}, [{"a": [1]}]),
        ("$eq", "null", [None]),
        ("$ne", "1", [{"a": [1]}, "1", None]),
        ("$in", ["1", "null"], [1, None]),
        ("$nin", ["1"], [{"a": [1]}, "1", None]),
        ("$null", "true", [None]),
        ("$null", "false", [{"a": [1]}, 1, "1"]),
    ],
)
def test_documents(found, operator, value, expected):
    documents = [{"a": [1]}, 1, "1", None]

    assert found(documents, operator, value, field="extra") == expected


@pytest.mark.parametrize("field", ["extra", "decorated"])
def test_order_of_names_in_a_document_does_not_matter(found, field):
    assert found([{"a": 1, "b": 2}], "$eq", '{"b": 2, "a": 1}', field=field)
