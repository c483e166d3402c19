from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask import Flask
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from flask_records import BadRequest, Params, SQLAlchemyService

from ...databases import serving_models


class Base(DeclarativeBase):
    pass


membership = sa.Table(
    "populate_membership",
    Base.metadata,
    sa.Column("person_id", sa.ForeignKey("populate_person.id"), primary_key=True),
    sa.Column("club_id", sa.ForeignKey("populate_club.id"), primary_key=True),
    sa.Column("place", sa.Integer),
)


class Team(Base):
    __tablename__ = "populate_team"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20))
    budget: Mapped[int | None]

    # An expression gives no order.
    people: Mapped[list[Person]] = relationship(
        back_populates="team", order_by=lambda: sa.func.length(Person.name)
    )


class Person(Base):
    __tablename__ = "populate_person"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20))
    team_id: Mapped[int | None] = mapped_column(sa.ForeignKey("populate_team.id"))
    boss_id: Mapped[int | None] = mapped_column(sa.ForeignKey("populate_person.id"))

    team: Mapped[Team | None] = relationship(back_populates="people")
    boss: Mapped[Person | None] = relationship(
        remote_side="Person.id", back_populates="reports"
    )
    reports: Mapped[list[Person]] = relationship(
        back_populates="boss", order_by="Person.name.desc()"
    )
    card: Mapped[Card | None] = relationship(back_populates="person")
    clubs: Mapped[list[Club]] = relationship(
        secondary=membership, order_by=membership.c.place.desc()
    )
    named_clubs: Mapped[list[Club]] = relationship(
        secondary=membership, order_by="Club.name.desc()", viewonly=True
    )
    namesakes: Mapped[list[Person]] = relationship(
        primaryjoin="and_(Person.name == foreign(remote(Person.name)), Person.id > 0)",
        viewonly=True,
    )


class Card(Base):
    __tablename__ = "populate_card"

    id: Mapped[int] = mapped_column(primary_key=True)
    number: Mapped[str] = mapped_column(sa.String(20))
    person_id: Mapped[int] = mapped_column(
        sa.ForeignKey("populate_person.id"), unique=True
    )

    person: Mapped[Person] = relationship(back_populates="card")
    key: Mapped[Key | None] = relationship()


class Club(Base):
    __tablename__ = "populate_club"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20))


class Key(Base):
    """A model that no service is over."""

    __tablename__ = "populate_key"

    id: Mapped[int] = mapped_column(primary_key=True)
    card_id: Mapped[int] = mapped_column(sa.ForeignKey("populate_card.id"))


ANN = {"id": 1, "name": "Ann", "team_id": 1, "boss_id": None}
BOB = {"id": 2, "name": "Bob", "team_id": 1, "boss_id": 1}
EVE = {"id": 3, "name": "Eve", "team_id": None, "boss_id": 1}
RED, BLUE = {"id": 1, "name": "Red"}, {"id": 2, "name": "Blue"}
CHESS, GO = {"id": 1, "name": "Chess"}, {"id": 2, "name": "Go"}
CARD = {"id": 7, "number": "007", "person_id": 2}


@pytest.fixture(scope="module")
def app(module_url):
    """An app of each database. The records are there, and no test changes them."""
    with serving_models(module_url, services()) as client:
        fill(client)
        yield client.application


@pytest.fixture
def changeable():
    """The services of an app of its own, where tests may connect hooks and write."""
    with serving_models("sqlite://", services()) as client:
        fill(client)
        yield client.application


def services(**options):
    """The services, the one of people with more options."""
    names = {"whitelist": ["$populate"]}
    options = {**names, "multi": True, "client_ids": True} | options
    pages = {"default": 2}
    return {
        "people": SQLAlchemyService(Person, **options),
        "teams": SQLAlchemyService(Team, hidden=["budget"], paginate=pages, **names),
        "clubs": Club,
        "cards": SQLAlchemyService(Card, **names),
    }


def fill(client):
    rows = {
        Team: [RED | {"budget": 100}, BLUE | {"budget": 200}],
        Person: [ANN, BOB, EVE],
        Card: [CARD],
        Club: [CHESS, GO],
        membership: [
            {"person_id": person, "club_id": club, "place": club}
            for person, club in [(1, 1), (1, 2), (3, 1)]
        ],
    }

    with client.application.app_context(), client.db.engine.begin() as connection:
        for table, values in rows.items():
            connection.execute(sa.insert(table), values)


POPULATED = [
    ("/people/1?$populate=team", ANN | {"team": RED}),
    ("/people/3?$populate=team", EVE | {"team": None}),
    (
        "/people?$populate=team",
        [ANN | {"team": RED}, BOB | {"team": RED}, EVE | {"team": None}],
    ),
    ("/teams/1?$populate=people", RED | {"people": [ANN, BOB]}),
    ("/teams/2?$populate[]=people", BLUE | {"people": []}),
    ("/people/2?$populate=card", BOB | {"card": CARD}),
    ("/people/1?$populate=card", ANN | {"card": None}),
    ("/cards/7?$populate=person", CARD | {"person": BOB}),
    (
        "/people?$populate=clubs&$sort[id]=-1",
        [EVE | {"clubs": [CHESS]}, BOB | {"clubs": []}, ANN | {"clubs": [GO, CHESS]}],
    ),
    ("/people/2?$populate=boss", BOB | {"boss": ANN}),
    ("/people/1?$populate=boss", ANN | {"boss": None}),
    ("/people/1?$populate=reports", ANN | {"reports": [EVE, BOB]}),
    ("/people/2?$populate[]=team&$populate[]=boss", BOB | {"team": RED, "boss": ANN}),
    ("/people/2?$populate=team&$populate=team", BOB | {"team": RED}),
    ("/people/2?$populate=team&$select=name", {"id": 2, "name": "Bob", "team": RED}),
    ("/people?name=Nobody&$populate=clubs", []),
    (
        "/teams?$populate=people&$limit=1",
        {"total": 2, "limit": 1, "skip": 0, "data": [RED | {"people": [ANN, BOB]}]},
    ),
    (
        "/teams?$populate=people&$limit=0",
        {"total": 2, "limit": 0, "skip": 0, "data": []},
    ),
]


def test_order_by_a_field_that_is_hidden_is_left_out():
    hidden = services(hidden=["name"])
    hidden["clubs"] = SQLAlchemyService(Club, hidden=["name"])

    with serving_models("sqlite://", hidden) as client:
        fill(client)
        ann = client.get("/people/1?$populate[]=reports&$populate[]=named_clubs").json

    assert [each["id"] for each in ann["reports"]] == [2, 3]
    assert [each["id"] for each in ann["named_clubs"]] == [1, 2]


@pytest.mark.parametrize("path", ["team.people", "team.people.team", "reports.boss"])
def test_path_does_not_return_to_all_that_it_comes_from(app, path):
    response = app.test_client().get(f"/people?$populate={path}")

    is_list = path != "reports.boss"
    assert response.status_code == (400 if is_list else 200)
    assert not is_list or "'team.people' returns to the" in response.json["message"]


@pytest.mark.parametrize(("url", "result"), POPULATED)
def test_relationships_of_all_kinds_in_the_order_of_the_model(app, url, result):
    assert app.test_client().get(url).json == result


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("/people?$populate=nope", "nope"),
        ("/people?$populate=name", "name"),
        ("/people?$populate=namesakes", "namesakes"),
        ("/people?$populate=", ""),
        ("/people?$populate[]=team&$populate[]=nope", "nope"),
        ("/people/1?$populate=team.nope", "team.nope"),
        ("/cards?$populate=key", "key"),
        ("/people?$populate=nope&$limit=0", "nope"),
    ],
)
def test_what_can_not_be_populated_is_refused(app, url, name):
    response = app.test_client().get(url)

    assert (response.status_code, response.json) == (400, refused(name))


def refused(name):
    why = "is not a relationship that can be populated"
    return BadRequest(f"'{name}' {why}.", errors={name: why}).to_dict()


@pytest.mark.parametrize("value", ["$populate[a]=team", "$populate[$gt]=team"])
def test_populate_takes_names(app, value):
    response = app.test_client().get(f"/people?{value}")

    assert response.status_code == 400
    assert (
        response.json["message"] == "'$populate' takes names, such as $populate[]=name."
    )


@pytest.mark.parametrize(
    ("url", "name"),
    [("/people?$populate=team", "team"), ("/teams?$populate=people", "people")],
)
def test_a_relationship_over_a_hidden_field_is_refused(url, name):
    with serving_models("sqlite://", services(hidden=["team_id"])) as client:
        response = client.get(url)

    assert (response.status_code, response.json) == (400, refused(name))


def test_a_call_in_python_sees_hidden_fields_of_the_other_service(app):
    people = app.extensions["records"]["people"]

    with app.app_context():
        record = people.get(2, Params({"$populate": ["team"]}))

    assert record == BOB | {"team": RED | {"budget": 100}}


def test_hooks_of_the_other_service_restrict_what_is_shown(changeable):
    records = changeable.extensions["records"]
    calls = []

    @records["people"].before("find")
    def only_bob(method, context):
        calls.append((context.params.provider, context.params.query))
        context.params.query["name"] = "Bob"

    response = changeable.test_client().get("/teams/1?$populate=people")

    assert response.json == RED | {"people": [BOB]}
    assert len(calls) == 1


def test_every_write_answers_relationships(changeable):
    client = changeable.test_client()
    max = {"id": 9, "name": "Max", "team_id": 2, "boss_id": None}

    created = client.post("/people?$populate=team", json=max)
    many = client.post("/people?$populate=boss", json=[max | {"id": 8, "boss_id": 9}])
    patched = client.patch("/people?id=9&$populate=clubs", json={"team_id": 1})
    updated = client.put("/people/9?$populate=team", json={"name": "Max"})
    removed = client.delete("/people/8?$populate=boss")
    refused = client.delete("/people/1?$populate=nope")

    assert created.json == max | {"team": BLUE}
    assert many.json == [max | {"id": 8, "boss_id": 9, "boss": max}]
    assert patched.json == [max | {"team_id": 1, "clubs": []}]
    assert updated.json == max | {"team_id": None, "team": None}
    assert removed.json["boss"] == max | {"team_id": None}
    assert refused.status_code == 400
    assert client.get("/people/1").json == ANN


def test_an_option_names_the_service_that_shows_a_relationship():
    secrets = {"secrets": SQLAlchemyService(Team, hidden=["name"])}
    more = services(populate={"team": "secrets"}) | secrets

    with serving_models("sqlite://", more) as client:
        fill(client)
        response = client.get("/people/1?$populate=team")

    assert response.json == ANN | {"team": {"id": 1, "budget": 100}}


@pytest.mark.parametrize("name", ["nope", "name"])
def test_an_option_for_no_relationship_is_an_error(name):
    service = SQLAlchemyService(
        Person, populate={name: "teams"}, whitelist=["$populate"]
    )

    with pytest.raises(ValueError, match=f"'{name}', which is not a relationship"):
        service.check(Flask(__name__))


class ShelfBase(DeclarativeBase):
    pass


class Book(ShelfBase):
    __tablename__ = "book"

    id: Mapped[int] = mapped_column(primary_key=True)
    rank: Mapped[int]
    shelf_id: Mapped[int] = mapped_column(sa.ForeignKey("shelf.id"))


class Shelf(ShelfBase):
    __tablename__ = "shelf"

    id: Mapped[int] = mapped_column(primary_key=True)
    books: Mapped[list[Book]] = relationship(order_by=-Book.rank)


def test_an_expression_with_a_column_gives_no_order():
    shelves = SQLAlchemyService(Shelf, whitelist=["$populate"])

    with serving_models("sqlite://", {"shelves": shelves, "books": Book}) as client:
        client.post("/shelves", json={})
        client.post("/books", json=[{"rank": n, "shelf_id": 1} for n in (2, 3, 1)])
        answer = client.get("/shelves/1?$populate=books")

    assert [book["id"] for book in answer.json["books"]] == [1, 2, 3]
