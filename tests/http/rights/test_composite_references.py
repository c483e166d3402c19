"""The columns of a foreign key refer to one record that the caller finds, together."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import FlaskRecords, SQLAlchemyService

from ...databases import serving_models


class Base(DeclarativeBase):
    pass


class Room(Base):
    __tablename__ = "referred_room"

    building: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    owner: Mapped[str] = mapped_column(sa.String(10))


def key():
    names = ["referred_room.building", "referred_room.number"]
    return (sa.ForeignKeyConstraint(["inBuilding", "room"], names),)


class Booking(Base):
    __tablename__ = "referring_booking"
    __table_args__ = key()

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str | None] = mapped_column(sa.String(10))
    inBuilding: Mapped[int | None] = mapped_column(default=1)
    room: Mapped[int | None]


class Visit(Base):
    """Has a default that the database sets."""

    __tablename__ = "referring_visit"
    __table_args__ = key()

    id: Mapped[int] = mapped_column(primary_key=True)
    inBuilding: Mapped[int | None] = mapped_column(server_default="1")
    room: Mapped[int | None]


class Stay(Base):
    """Has a private part."""

    __tablename__ = "referring_stay"
    __table_args__ = key()

    id: Mapped[int] = mapped_column(primary_key=True)
    _building: Mapped[int | None] = mapped_column("inBuilding", default=1)
    room: Mapped[int | None]


# Ann finds a room with each of the two numbers of the room of Bob.
OWN, ALSO_OWN, HIDDEN, ABSENT = (1, 1), (2, 2), (1, 2), (2, 1)


def place(building, room):
    return {"inBuilding": building, "room": room}


@pytest.fixture
def client(database_url):
    records = FlaskRecords()
    rooms, rule = SQLAlchemyService(Room), {"owner": "ann"}
    records.add("rooms", rooms, readable=lambda user: rule, public=True)

    models = {"bookings": Booking, "visits": Visit, "stays": Stay}

    with (
        serving_models(database_url, models, records) as client,
        client.application.app_context(),
    ):
        db = client.db

        for (building, number), owner in {OWN: "ann", ALSO_OWN: "ann"}.items():
            db.session.add(Room(building=building, number=number, owner=owner))

        db.session.add(Room(building=HIDDEN[0], number=HIDDEN[1], owner="bob"))
        db.session.commit()
        db.session.add(Booking(title="old", inBuilding=HIDDEN[0], room=HIDDEN[1]))
        db.session.commit()
        yield client


def problems(response):
    assert response.status_code == 400, response.json
    assert {*response.json["errors"].values()} == {
        "refers to a record that is not there"
    }
    return {*response.json["errors"]}


@pytest.mark.parametrize("key", [HIDDEN, ABSENT])
def test_key_of_two_records_is_refused(client, key):
    own = client.post("/bookings", json=place(*OWN)).json["id"]
    both = {"inBuilding", "room"}
    changed = {"room"} if key == HIDDEN else {"inBuilding"}

    assert problems(client.post("/bookings", json=place(*key))) == both
    assert problems(client.patch(f"/bookings/{own}", json=place(*key))) == changed
    assert problems(client.put(f"/bookings/{own}", json=place(*key))) == changed
    assert problems(client.patch(f"/bookings?id={own}", json=place(*key))) == both
    many = client.post("/bookings", json=[place(*OWN), place(*key)])
    assert problems(many) == {"1.inBuilding", "1.room"}


def test_other_part_is_that_of_the_record(client):
    own = client.post("/bookings", json=place(*OWN)).json["id"]
    room = {"room": HIDDEN[1]}

    assert problems(client.patch(f"/bookings/{own}", json=room)) == {"room"}
    assert problems(client.patch(f"/bookings?id={own}", json=room)) == {"room"}
    assert client.patch(f"/bookings/{own}", json=place(*ALSO_OWN)).status_code == 200
    assert client.patch(f"/bookings/{own}", json=room).status_code == 200
    assert client.patch(f"/bookings?id={own}", json=room).status_code == 200
    assert client.patch("/bookings/999", json=room).status_code == 404


@pytest.mark.parametrize("path", ["/bookings", "/visits"])
def test_part_that_a_default_would_set_has_to_be_sent(client, path):
    assert problems(client.post(path, json={"room": OWN[1]})) == {"room"}
    assert client.post(path, json=place(*OWN)).status_code == 201


def test_key_with_a_private_part_is_refused_but_for_null(client):
    stay = client.post("/stays", json={"room": None})

    assert stay.status_code == 201
    assert problems(client.post("/stays", json={"room": OWN[1]})) == {"room"}
    assert problems(client.patch("/stays/1", json={"room": OWN[1]})) == {"room"}
    assert client.patch("/stays?id=1", json={"room": None}).json == [stay.json]


def test_key_without_a_part_refers_to_nothing(client):
    bodies = [place(HIDDEN[0], None), {"room": None}]

    assert client.post("/bookings", json=bodies).status_code == 201
    assert client.patch("/bookings/1", json={"room": None}).status_code == 200


def test_whole_records_are_sent_back(client):
    booking = client.get("/bookings/1").json
    new = {**booking, "title": "new"}

    assert client.patch("/bookings/1", json=new).json == new
    assert client.put("/bookings/1", json=booking).json == booking
    assert problems(client.patch("/bookings/1", json={**booking, "room": 9})) == {
        "room"
    }
