"""Groups by periods of times, in time zones, and by fields of related records."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import BadRequest, SQLAlchemyService

from ...databases import serving_models

FORMS = {
    "hour": lambda moment: f"{moment:%Y-%m-%dT%H}",
    "day": lambda moment: f"{moment:%Y-%m-%d}",
    "week": lambda moment: f"{moment:%G-W%V}",
    "month": lambda moment: f"{moment:%Y-%m}",
    "quarter": lambda moment: f"{moment:%Y}-Q{(moment.month + 2) // 3}",
    "year": lambda moment: f"{moment:%Y}",
}
"""The texts of periods, as Python has them."""

ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
]

HOUR = dt.timedelta(hours=1)


class Base(DeclarativeBase):
    pass


class Visit(Base):
    __tablename__ = "period_visit"

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[dt.datetime | None] = mapped_column(sa.DateTime(timezone=True))
    plain: Mapped[dt.datetime | None]
    day: Mapped[dt.date | None]


@pytest.fixture(scope="module")
def visits(module_url):
    """A service of visits on each database, of which clients group all times."""
    service = SQLAlchemyService(Visit, aggregates=["id", "at", "plain", "day"])

    with (
        serving_models(module_url, {"visits": service}) as client,
        client.application.app_context(),
    ):
        visits, app = client.records["visits"], client.application
        visits.client = client.records.client(app).service("visits")
        visits.db = client.db
        yield visits


def fill(visits, moments):
    visits.db.session.execute(sa.delete(Visit))
    visits.db.session.execute(
        sa.insert(Visit),
        [
            {
                "id": id,
                "at": each,
                "plain": each.replace(tzinfo=None),
                "day": each.date(),
            }
            for id, each in enumerate(moments, 1)
        ],
    )
    visits.db.session.commit()


def counted(visits, field, unit, **query):
    found = visits.client.find({"$group": {field: unit}, "$count": "id", **query})
    return {group[field]: group["$count"]["id"] for group in found}


def changes(zone, year):
    """The hours in which the offset of a zone changes in a year, as Python has it."""
    start = dt.datetime(year, 1, 1, tzinfo=dt.UTC)
    hours = [start + hour * HOUR for hour in range(366 * 24)]
    offsets = [each.astimezone(ZoneInfo(zone)).utcoffset() for each in hours]
    return [hours[i] for i in range(1, len(hours)) if offsets[i] != offsets[i - 1]]


@pytest.mark.parametrize("zone", ZONES)
def test_periods_are_those_of_the_zone(visits, zone):
    moments = [
        change + step
        for year in (1971, 2024, 2026, 2079)
        for change in [dt.datetime(year, 1, 1, tzinfo=dt.UTC), *changes(zone, year)]
        for step in (-HOUR * 30, -HOUR, -HOUR / 60, HOUR * 0, HOUR / 2, HOUR * 25)
    ]
    fill(visits, moments)
    local = [moment.astimezone(ZoneInfo(zone)) for moment in moments]

    for unit, form in FORMS.items():
        expected = Counter(map(form, local))
        assert counted(visits, "at", unit, **{"$zone": zone}) == expected
        assert counted(visits, "plain", unit, **{"$zone": zone}) == expected


@pytest.mark.parametrize("year", range(2015, 2031))
def test_weeks_at_the_turn_of_the_year(visits, year):
    first = dt.datetime(year, 12, 25, 12, tzinfo=dt.UTC)
    moments = [first + dt.timedelta(days=each) for each in range(16)]
    fill(visits, moments)
    expected = Counter(f"{each:%G-W%V}" for each in moments)

    assert counted(visits, "at", "week") == expected
    assert counted(visits, "day", "week") == expected


def test_order_and_pages_of_periods(visits):
    fill(
        visits, [dt.datetime(2024, month, 1, tzinfo=dt.UTC) for month in (1, 5, 6, 12)]
    )
    query = {"$group": {"at": "quarter"}, "$count": "id", "$zone": "Europe/Berlin"}

    descending = visits.client.find({**query, "$sort": {"at": -1}, "$limit": 2})
    by_count = visits.client.find({**query, "$sort": {"$count.id": -1}})

    assert [each["at"] for each in descending] == ["2024-Q4", "2024-Q2"]
    assert [each["at"] for each in by_count] == ["2024-Q2", "2024-Q1", "2024-Q4"]


def test_a_time_that_is_null_is_in_no_period(visits):
    visits.db.session.execute(sa.delete(Visit))
    visits.db.session.execute(sa.insert(Visit), [{"id": 1}])
    visits.db.session.commit()

    for unit in FORMS:
        assert counted(visits, "at", unit, **{"$zone": "Asia/Kathmandu"}) == {None: 1}
        assert counted(visits, "plain", unit) == {None: 1}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"$group": {"day": "hour"}}, "day"),
        ({"$group": {"day": "month"}, "$zone": "Europe/Berlin"}, "day"),
        ({"$group": {"at": "minute"}}, "at"),
        ({"$group": {"at": "day"}, "$zone": "Europe/Atlantis"}, "$zone"),
        ({"$group": {"at": "day"}, "$zone": "Europe"}, "$zone"),
        ({"$group": {"at": "day"}, "$zone": "../../etc/passwd"}, "$zone"),
        ({"$group": {"at": "day"}, "$zone": "' OR 1=1"}, "$zone"),
        ({"$group": {"at": "day"}, "$zone": "x\0y"}, "$zone"),
        ({"$group": {"at": "day"}, "$zone": "a" * 5000}, "$zone"),
        ({"$group": {"at": "day"}, "$zone": ""}, "$zone"),
        ({"$group": {"at": "day"}, "$zone": ["UTC"]}, "$zone"),
        ({"$group": {"at": "day"}, "$zone": {"a": "UTC"}}, "$zone"),
        ({"$group": ["at"], "$zone": "Europe/Berlin"}, "$zone"),
        ({"$count": "id", "$zone": "Europe/Berlin"}, "$zone"),
        ({"$zone": "Europe/Berlin"}, "$zone"),
    ],
)
def test_what_is_not_understood_is_refused(visits, query, field):
    with pytest.raises(BadRequest) as info:
        visits.client.find(query)

    assert field in str(info.value)
