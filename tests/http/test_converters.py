"""Types of the application have the form on the wire that it gives them."""

from __future__ import annotations

import dataclasses
import enum
import json
from decimal import Decimal

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    mapped_column,
    relationship,
    validates,
)

from flask_records import Converter, FlaskRecords, Params, Problem, SQLAlchemyService

from ..databases import empty, served, serving_models


@dataclasses.dataclass(frozen=True)
class Money:
    cents: int

    @classmethod
    def parse(cls, value):
        if isinstance(value, cls):
            return value

        amount, _, currency = str(value).partition(" ")

        if currency != "EUR":
            raise ValueError(Problem("is not in EUR", "currency"))

        return cls(int(Decimal(amount) * 100))

    def show(self):
        return f"{Decimal(self.cents) / 100:.2f} EUR"


class MoneyType(sa.TypeDecorator):
    impl = sa.Integer
    cache_ok = True

    @property
    def python_type(self):
        return Money

    def process_bind_param(self, value, dialect):
        return None if value is None else value.cents

    def process_result_value(self, value, dialect):
        return None if value is None else Money(value)


class Words(sa.TypeDecorator):
    """A type whose Python type is not that of its implementation."""

    impl = sa.String(100)
    cache_ok = True

    @property
    def python_type(self):
        return list

    def process_bind_param(self, value, dialect):
        return None if value is None else ",".join(value)

    def process_result_value(self, value, dialect):
        return None if value is None else value.split(",")


class Cents(sa.TypeDecorator):
    impl = sa.Integer
    cache_ok = True
    python_type = Decimal

    def process_bind_param(self, value, dialect):
        return None if value is None else int(value * 100)

    def process_result_value(self, value, dialect):
        return None if value is None else Decimal(value) / 100


class Base(DeclarativeBase):
    pass


class Offer(Base):
    __tablename__ = "converter_offer"

    id: Mapped[int] = mapped_column(primary_key=True)
    price: Mapped[Money | None] = mapped_column(MoneyType)
    old_price: Mapped[Money | None] = mapped_column(MoneyType)
    size: Mapped[int | None]
    words: Mapped[list | None] = mapped_column(Words)
    cost: Mapped[Decimal | None] = mapped_column(Cents)


SIZES = {1: "small", 2: "large"}


def read_size(value):
    return {text: number for number, text in SIZES.items()}.get(value) or int(value)


BY_COLUMN_TYPE = {MoneyType: Converter(Money.parse, Money.show)}
BY_NAME = {
    "price": Converter(Money.parse, Money.show),
    "old_price": Converter(Money.parse, Money.show),
}


@pytest.fixture(scope="module", params=[BY_COLUMN_TYPE, BY_NAME])
def served_offers(request, module_url):
    records = FlaskRecords()
    converters = {**request.param, "size": Converter(read_size, SIZES.get)}
    offers = records.add(
        "offers",
        SQLAlchemyService(Offer, converters=converters, multi=True),
        public=True,
        readable=lambda user: {"price": {"$ne": "66.00 EUR"}},
    )
    offers.sent = []
    offers.events()(lambda event, record, context: offers.sent.append(record))

    db = SQLAlchemy(model_class=Base)

    with served(db, records, module_url) as app, app.app_context():
        offers.client, offers.engine = app.test_client(), db.engine
        yield offers


@pytest.fixture
def offers(served_offers):
    """A service of two offers."""
    prices = [{"price": Money(150), "size": 1}, {"price": Money(1200), "size": 2}]

    with served_offers.engine.begin() as connection:
        empty(connection, Offer.__table__)
        connection.execute(sa.insert(Offer), prices)

    return served_offers


def ids(offers, **query):
    answer = offers.client.get("/offers", query_string=query)
    assert answer.status_code == 200, answer.text
    return [record["id"] for record in answer.json]


def test_values_are_read_and_shown(offers):
    answer = offers.client.patch("/offers/1", json={"price": "2.00 EUR"})

    assert (answer.json["price"], answer.json["size"]) == ("2.00 EUR", "small")
    assert offers.client.get("/offers/1").json == answer.json
    assert offers.sent[-1]["price"] == "2.00 EUR"


def test_values_are_read_in_queries(offers):
    assert ids(offers, price="1.50 EUR") == [1]
    assert ids(offers, **{"price[$in][]": ["12.00 EUR", "3.00 EUR"]}) == [2]
    assert ids(offers, **{"price[$gt]": "1.50 EUR"}) == [2]
    assert ids(offers, **{"$sort[price]": "-1"}) == [2, 1]
    assert ids(offers, size="large") == [2]
    assert offers.client.get("/offers?$select=size").json == [
        {"id": 1, "size": "small"},
        {"id": 2, "size": "large"},
    ]


@pytest.mark.parametrize("path", ["/offers?price=5", "/offers?price[$gt]=5"])
def test_wrong_values_of_queries_name_their_field(offers, path):
    answer = offers.client.get(path)

    assert (answer.status_code, answer.json["errors"]) == (
        400,
        {"price": "is not in EUR"},
    )


def test_wrong_values_of_bodies_name_their_field(offers):
    answer = offers.client.post("/offers", json={"price": "5 USD", "size": {}})

    assert answer.status_code == 400
    assert answer.json["errors"] == {"price": "is not in EUR", "size": "is not valid"}


def test_a_whole_record_with_a_read_only_value_is_taken(database_url):
    double = Converter(lambda value: int(value) // 2, lambda value: value * 2)
    service = SQLAlchemyService(Offer, converters={"size": double}, readonly=["size"])

    with serving_models(database_url, {"offers": service}) as client:
        with client.application.app_context():
            record = client.records["offers"].create({"size": 10})

        path = f"/offers/{record['id']}"
        taken = client.put(path, json={**record, "cost": "1.00"})
        refused = client.put(path, json={**record, "size": 12})

    assert (taken.status_code, taken.json["size"]) == (200, 10)
    assert refused.json["errors"] == {"size": "is read-only"}


def test_calls_in_python_take_values_of_the_type(offers):
    found = offers.find(Params({"price": "12.00 EUR"}))
    offers.patch(1, {"price": "7.00 EUR"})

    assert [record["id"] for record in found] == [2]
    assert offers.get(1)["price"] == "7.00 EUR"


def test_a_type_goes_by_its_python_type(offers):
    answer = offers.client.post("/offers", json={"words": ["a", "b"], "cost": "1.25"})
    wrong = offers.client.post("/offers", json={"words": "a", "cost": "x"})

    assert (answer.json["words"], answer.json["cost"]) == (["a", "b"], "1.25")
    assert ids(offers, words=json.dumps(["a", "b"])) == [3]
    assert ids(offers, **{"cost[$lt]": "1.5"}) == [3]
    assert wrong.json["errors"] == {"words": "is not a list", "cost": "is not a number"}


@pytest.mark.parametrize("body", [{"cost": "1e30"}, {"words": ["\ud800"]}], ids=str)
def test_what_a_driver_can_not_write_is_an_error_of_the_client(offers, body):
    answers = [
        offers.client.post("/offers", json=body),
        offers.client.patch("/offers/1", json=body),
    ]
    found = offers.client.get("/offers?cost=1e30")

    assert [answer.status_code for answer in answers] == [400, 400]
    # MariaDB compares with larger numbers than it stores.
    assert found.status_code in (200, 400)


@pytest.mark.parametrize(
    "converters", [["price"], {"price": str}, {Money: Converter(str)}]
)
def test_converters_of_another_form_are_refused(converters):
    with pytest.raises(TypeError, match="converters={MoneyType: Converter"):
        SQLAlchemyService(Offer, converters=converters)


def test_a_converter_of_no_field_is_refused():
    service = SQLAlchemyService(Offer, converters={"prise": Converter(str)})

    with pytest.raises(ValueError, match="'converters' names 'prise'"):
        service.check(Flask("app"))


class Size(enum.Enum):
    small = 1
    large = 2


class Sized(Base):
    __tablename__ = "converter_sizes"

    id: Mapped[int] = mapped_column(primary_key=True)
    size: Mapped[Size]


@pytest.fixture
def sized(database_url):
    with serving_models(database_url, {"sized": Sized}) as client:
        client.post("/sized", json=[{"size": "small"}, {"size": "large"}])
        yield client


def test_an_enum_is_sorted_as_the_database_does(sized, database_url):
    """PostgreSQL and MariaDB have the order of its members, SQLite that of texts."""
    answer = sized.get("/sized?$sort[size]=1&$select=size").json

    sizes = ["large", "small"] if "sqlite" in database_url else ["small", "large"]
    assert [each["size"] for each in answer] == sizes


def test_an_enum_is_not_less_or_greater(sized):
    answer = sized.get("/sized?size[$gt]=small")

    assert answer.status_code == 400
    assert answer.json["errors"] == {"size": "can't be compared with less or greater"}


class Vector(list):
    """Compares its items, as arrays of NumPy do."""

    __hash__ = None

    def __eq__(self, other):
        return Vector([each == other for each in self])

    def __bool__(self):
        raise ValueError("The truth of an array is ambiguous.")


class VectorType(sa.TypeDecorator):
    impl = sa.JSON
    cache_ok = True

    def process_bind_param(self, value, dialect):
        return None if value is None else list(value)

    def process_result_value(self, value, dialect):
        return None if value is None else Vector(value)

    def compare_values(self, x, y):
        return x is y


class Embedding(Base):
    __tablename__ = "converter_embedding"

    id: Mapped[int] = mapped_column(primary_key=True)
    vector: Mapped[list | None] = mapped_column(VectorType)


def test_a_value_may_compare_its_items(database_url):
    converters = {VectorType: Converter(Vector, list)}
    service = SQLAlchemyService(Embedding, converters=converters)

    with serving_models(database_url, {"embeddings": service}) as client:
        answers = [
            client.post("/embeddings", json={"vector": [1, 2]}),
            client.patch("/embeddings/1", json={"vector": [3, 4]}),
            client.patch("/embeddings/1", json={"vector": None}),
        ]

    assert [each.json["vector"] for each in answers] == [[1, 2], [3, 4], None]


class Letter(Base):
    __tablename__ = "converter_letter"

    id: Mapped[int] = mapped_column(primary_key=True)
    price: Mapped[Money | None] = mapped_column(
        MoneyType, sa.ForeignKey("converter_stamp.price")
    )


class Stamp(Base):
    __tablename__ = "converter_stamp"

    price: Mapped[Money] = mapped_column(MoneyType, primary_key=True)
    isSold: Mapped[bool]


def test_a_foreign_key_may_have_a_converter():
    converters = {MoneyType: Converter(Money.parse, Money.show)}
    letters, stamps = [
        SQLAlchemyService(model, converters=converters) for model in (Letter, Stamp)
    ]
    records = FlaskRecords()
    records.add("stamps", stamps, readable={"isSold": True}, public=True)

    with (
        serving_models("sqlite://", {"letters": letters}, records) as client,
        client.application.app_context(),
    ):
        for cents in (100, 200):
            client.db.session.add(Stamp(price=Money(cents), isSold=cents == 100))

        client.db.session.commit()
        sold = client.post("/letters", json={"price": "1.00 EUR"})
        other = client.post("/letters", json={"price": "2.00 EUR"})

    assert (sold.status_code, sold.json["price"]) == (201, "1.00 EUR")
    assert other.json["errors"] == {"price": "refers to a record that is not there"}


class Coin(Base):
    __tablename__ = "converter_coin"

    worth: Mapped[Decimal] = mapped_column(Cents, primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(sa.String(20))

    @validates("name")
    def strip(self, key, name):
        return name.strip()


def test_a_key_may_be_read_in_another_form_than_it_is_written(database_url):
    with serving_models(database_url, {"coins": Coin}) as client:
        one = client.post("/coins", json={"worth": "1.005", "name": " a "})
        many = client.post("/coins", json=[{"worth": "2.005", "name": "b"}])

    assert one.json == {"worth": "1", "name": "a"}
    assert many.json == [{"worth": "2", "name": "b"}]


class Account(Base):
    __tablename__ = "converter_account"

    id: Mapped[int] = mapped_column(
        sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True
    )
    total: Mapped[int | None] = mapped_column(sa.BigInteger)


class Entry(Base):
    __tablename__ = "converter_entry"

    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(sa.ForeignKey(Account.id))
    account: Mapped[Account] = relationship()


def test_integers_of_64_bits_are_sent_as_text(database_url):
    converters, large = {sa.BigInteger: Converter(show=str)}, str(2**60 + 1)
    accounts = SQLAlchemyService(Account, converters=converters, client_ids=True)
    entries = SQLAlchemyService(Entry, whitelist=["$populate"])
    services = {"accounts": accounts, "entries": entries}

    with serving_models(database_url, services) as client:
        record = client.post("/accounts", json={"id": large, "total": large}).json
        client.post("/entries", json={"account_id": large})
        found = client.get(f"/accounts?total={large}").json
        [entry] = client.get("/entries?$populate=account").json
        wrong = client.get("/accounts?total[$gt]=many").json["errors"]

        assert record == {"id": large, "total": large}
        assert client.get(f"/accounts/{large}").json == record
        assert found == [record]
        assert entry["account"] == record
        assert wrong == {"total": "is not a whole number"}
        assert client.get("/accounts/many").status_code == 404
        assert client.post("/accounts", json={"total": 1.5}).status_code == 400
