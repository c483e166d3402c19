"""Calls that write to several databases."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    mapped_column,
    relationship,
    Session,
    sessionmaker,
)

from flask_records import (
    BadRequest,
    FlaskRecords,
    Params,
    SQLAlchemyService,
    Transaction,
)

from ...databases import served
from ...models import Message, Room


@pytest.fixture
def site(database_url, tmp_path):
    """Shops on one database, and offers on another one."""

    class Base(DeclarativeBase):
        pass

    db, records = SQLAlchemy(model_class=Base), FlaskRecords()

    def number_of_shop():
        return site.number_of_shop()

    class Shop(db.Model):
        __tablename__ = "several_shop"

        id: Mapped[int] = mapped_column(primary_key=True)
        name: Mapped[str] = mapped_column(sa.String(20))
        number: Mapped[int | None] = mapped_column(default=number_of_shop)

    class Offer(db.Model):
        __bind_key__ = "other"
        __tablename__ = "several_offer"

        id: Mapped[int] = mapped_column(primary_key=True)
        name: Mapped[str] = mapped_column(sa.String(20), unique=True)
        shopId: Mapped[int]
        shop: Mapped[Shop] = relationship(
            primaryjoin=lambda: sa.orm.foreign(Offer.shopId) == Shop.id
        )

    records.add("shops", SQLAlchemyService(Shop), public=True)
    offers = SQLAlchemyService(Offer, whitelist=["$populate"])
    records.add("offers", offers, public=True)

    binds = {"other": f"sqlite:///{tmp_path / 'offers.db'}"}

    with served(db, records, database_url, SQLALCHEMY_BINDS=binds) as app:
        with app.app_context():
            site = Site(db, records)
            yield site


@pytest.mark.parametrize(
    "options",
    [{"relations": ["shop"]}, {"visible": {"name": {"shop.name": "a"}}}],
)
def test_paths_to_another_database_are_refused(site, options):
    offer = site.offers.target.model
    service = SQLAlchemyService(offer, **options)
    records = FlaskRecords()
    records.add("shops", SQLAlchemyService(site.shops.target.model), public=True)
    records.add("offers", service, public=True)
    app = Flask("tests")
    app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite://"
    app.config["SQLALCHEMY_BINDS"] = {"other": "sqlite://"}
    SQLAlchemy(app)

    with pytest.raises(ValueError, match=r"'shop' leads to another database"):
        records.init_app(app)


def test_a_call_that_follows_a_path_to_another_database_is_refused(site):
    with pytest.raises(BadRequest, match="'shop' leads to another database"):
        site.offers.find(Params({"shop.name": "a"}))


class Site:
    def __init__(self, db, records):
        self.db = db
        self.shops = records.services["shops"]
        self.offers = records.services["offers"]
        self.number_of_shop = lambda: None
        self.events = []
        records.events()(lambda event, record, context: self.events.append(event))

    def names(self):
        both = self.shops, self.offers
        return [[each["name"] for each in service.find()] for service in both]


def test_default_that_writes_to_another_database(site):
    def number():
        return site.offers.create({"name": "Apple", "shopId": 1})["id"]

    site.number_of_shop = number

    shop = site.shops.create({"name": "Corner"})

    assert shop["number"] == 1
    assert site.names() == [["Corner"], ["Apple"]]


def make_offer_and_fail(site):
    shop = site.shops.create({"name": "Corner"})
    site.offers.create({"name": "Lamp", "shopId": shop["id"]})
    raise BadRequest("No.")


def test_all_are_rolled_back(site):
    with pytest.raises(BadRequest), Transaction():
        make_offer_and_fail(site)

    assert (site.names(), site.events) == ([[], []], [])


def test_a_part_is_rolled_back_on_all(site):
    with Transaction():
        site.shops.create({"name": "Market"})

        with pytest.raises(BadRequest), Transaction():
            make_offer_and_fail(site)

    assert (site.names(), site.events) == ([["Market"], []], ["created"])


def test_calls_wait_for_the_commit_of_work_in_progress_on_another(site):
    site.db.session.add(site.shops.target.model(name="Corner"))

    site.offers.create({"name": "Lamp", "shopId": 1})
    before = list(site.events)
    site.db.session.rollback()
    undone = site.names()
    site.db.session.add(site.shops.target.model(name="Market"))
    site.offers.create({"name": "Lamp", "shopId": 1})
    site.db.session.commit()

    assert (before, undone) == ([], [[], []])
    assert (site.names(), site.events) == ([["Market"], ["Lamp"]], ["created"])


def test_relationships_reach_the_other_database(site):
    shop = site.shops.create({"name": "Corner"})

    offer = site.offers.create(
        {"name": "Lamp", "shopId": shop["id"]}, Params({"$populate": "shop"})
    )

    assert offer == {"id": 1, "name": "Lamp", "shopId": shop["id"], "shop": shop}


def test_nothing_is_committed_before_all_of_it_can_be(tmp_path):
    engines = [sa.create_engine(f"sqlite:///{tmp_path}/{n}.db") for n in (1, 2)]
    session, records = Session(engines[1]), FlaskRecords()
    rooms = SQLAlchemyService(Room, session=sessionmaker(engines[0]))
    messages = SQLAlchemyService(Message, session=lambda: session)

    for engine in engines:
        Room.metadata.create_all(engine)

    rooms, messages = records.add("rooms", rooms), records.add("messages", messages)

    with pytest.raises(BadRequest), Transaction():
        rooms.create({"name": "Lobby"})
        messages.create({"text": "hi"})
        session.add(Message(text=None))

    assert (rooms.find(), messages.find()) == ([], [])

    for engine in engines:
        engine.dispose()
