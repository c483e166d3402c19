"""Types of the application have one form on the wire, in all that clients send and get:
the types of SQLAlchemy-Utils, recipes of SQLAlchemy's documentation, and others.
"""

import base64
import datetime as dt
import enum
import hashlib
import json
import pickle
import uuid
from contextlib import contextmanager
from decimal import Decimal
from types import SimpleNamespace
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from flask import Flask
from sqlalchemy import orm
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import mapped_column

from flask_records import Converter, FlaskRecords, SQLAlchemyService

from ...databases import DATABASES, serving_models
from ...models import model_of

utils = pytest.importorskip("sqlalchemy_utils")
# From its import on, no session would write by single statements.
sa.event.remove(
    orm.Session, "after_flush", utils.aggregates.manager.construct_aggregate_queries
)
encrypted = pytest.importorskip("sqlalchemy_utils.types.encrypted.encrypted_type")


class Level(enum.Enum):
    low = 1
    high = 2


class JSONText(sa.TypeDecorator):
    """The recipe "Marshal JSON Strings" of SQLAlchemy's documentation."""

    impl = sa.VARCHAR(256)
    cache_ok = True

    def process_bind_param(self, value, dialect):
        if value is not None:
            value = json.dumps(value)
        return value

    def process_result_value(self, value, dialect):
        if value is not None:
            value = json.loads(value)
        return value


class JSONBytes(JSONText):
    impl = sa.LargeBinary
    cache_ok = True

    def process_bind_param(self, value, dialect):
        return None if value is None else json.dumps(value).encode()


class Sorted(sa.TypeDecorator):
    """A set, stored as a list of JSON."""

    impl, cache_ok = sa.JSON, True

    def process_bind_param(self, value, dialect):
        return None if value is None else sorted(value)

    def process_result_value(self, value, dialect):
        return None if value is None else set(value)


class TZDateTime(sa.TypeDecorator):
    """The recipe "Store Timezone Aware Timestamps as Timezone Naive UTC"."""

    impl = sa.DateTime
    cache_ok = True

    def process_bind_param(self, value, dialect):
        if value is not None:
            if not value.tzinfo or value.tzinfo.utcoffset(value) is None:
                raise TypeError("tzinfo is required")
            value = value.astimezone(dt.UTC).replace(tzinfo=None)
        return value

    def process_result_value(self, value, dialect):
        if value is not None:
            value = value.replace(tzinfo=dt.UTC)
        return value


class Named(sa.TypeDecorator):
    """Members of an enumeration, of which it takes nothing else."""

    impl = sa.String(10)
    cache_ok = True

    def __init__(self, members):
        super().__init__()
        self.members = members

    def process_bind_param(self, value, dialect):
        return None if value is None else value.name

    def process_result_value(self, value, dialect):
        return None if value is None else self.members[value]


class Numbered(sa.TypeDecorator):
    """Members of an enumeration by their numbers, in an attribute that is private."""

    impl = sa.Integer
    cache_ok = True

    def __init__(self, members):
        super().__init__()
        self._members = members

    def process_bind_param(self, value, dialect):
        return None if value is None else value.value

    def process_result_value(self, value, dialect):
        return None if value is None else self._members(value)


class YesNo(sa.TypeDecorator):
    impl = sa.CHAR(1)
    cache_ok = True

    def process_bind_param(self, value, dialect):
        return None if value is None else "Y" if value else "N"

    def process_result_value(self, value, dialect):
        return None if value is None else value == "Y"


class Address(sa.TypeDecorator):
    """A text, which PostgreSQL has a type for."""

    impl = sa.String(50)
    cache_ok = True

    def load_dialect_impl(self, dialect):
        is_own = dialect.name == "postgresql"
        return postgresql.INET() if is_own else dialect.type_descriptor(self.impl)

    def process_bind_param(self, value, dialect):
        return value


class Rounded(sa.TypeDecorator):
    """A number, which it binds as a float, and gets as a decimal."""

    impl = sa.Numeric(8, 2)
    cache_ok = True

    def process_bind_param(self, value, dialect):
        return None if value is None else float(value)

    def process_result_value(self, value, dialect):
        return None if value is None else value.quantize(Decimal("0.01"))


class GUID(sa.TypeDecorator):
    """As in Advanced Alchemy: text for the driver of PostgreSQL, which gives UUIDs."""

    impl = sa.Uuid
    cache_ok = True

    def process_bind_param(self, value, dialect):
        is_text = value is not None and dialect.name == "postgresql"
        return str(value) if is_text else value

    def process_result_value(self, value, dialect):
        return value if value is None else uuid.UUID(int=value.int)


class Prefixed(sa.TypeDecorator):
    """A key that is a number in the database, and takes no other text than it gives."""

    impl = sa.Integer
    cache_ok = True

    def process_bind_param(self, value, dialect):
        if value is None:
            return None

        prefix, number = value.split("_")
        assert prefix == "usr"
        return int(number)

    def process_result_value(self, value, dialect):
        return None if value is None else f"usr_{value}"


def same(type_):
    """A type that gives back what it gets."""

    class Same(sa.TypeDecorator):
        impl = type_
        cache_ok = True

        def process_result_value(self, value, dialect):
            return value

    return Same()


class Celsius:
    def __init__(self, degrees):
        self.degrees = degrees

    def __eq__(self, other):
        return isinstance(other, Celsius) and self.degrees == other.degrees

    __hash__ = None


class Temperature(sa.TypeDecorator):
    """Objects without a text, of which it takes nothing else."""

    impl = sa.Integer
    cache_ok = True

    def process_bind_param(self, value, dialect):
        return None if value is None else value.degrees

    def process_result_value(self, value, dialect):
        return None if value is None else Celsius(value)


class Even(sa.TypeDecorator):
    """Takes more than it reads."""

    impl = sa.Integer
    cache_ok = True

    def process_result_value(self, value, dialect):
        if value is not None and value % 2:
            raise ZeroDivisionError("odd")

        return value


class Hashed(sa.TypeDecorator):
    impl = sa.String(64)
    cache_ok = True

    def process_bind_param(self, value, dialect):
        return None if value is None else hashlib.sha256(value.encode()).hexdigest()


ENCRYPTED = encrypted.StringEncryptedType


class HashObject(Hashed):
    """As in Advanced Alchemy, its values are objects that it does not take."""

    def process_result_value(self, value, dialect):
        return None if value is None else SimpleNamespace(hash=value)


class InPython(ENCRYPTED):
    """As in Advanced Alchemy, it could convert in SQL, and does not."""

    cache_ok = True

    def bind_expression(self, parameter):
        return parameter

    def column_expression(self, column):
        return column


JOBS = [("running", "Running"), ("done", "Done")]

TYPES = {
    # The type, two values as they are shown, and values that it does not take.
    "arrow": (
        utils.ArrowType(),
        ["2026-01-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z"],
        ["x"],
    ),
    "choice": (utils.ChoiceType(JOBS), ["running", "done"], ["Running", "x", 1]),
    "choice of integers": (
        utils.ChoiceType([(1, "One"), (2, "Two")], impl=sa.Integer()),
        [1, 2],
        [3, "One"],
    ),
    "choice of an enum": (utils.ChoiceType(Level, impl=sa.Integer()), [1, 2], [3]),
    "color": (utils.ColorType(), ["#f00", "#00f"], ["nothing"]),
    "country": (utils.CountryType(), ["FI", "US"], ["Finland", "XX"]),
    "currency": (utils.CurrencyType(), ["EUR", "USD"], ["XXX1", "euro"]),
    "email": (utils.EmailType(), ["a@example.com", "b@example.com"], []),
    "address": (utils.IPAddressType(), ["127.0.0.1", "::1"], ["nonsense"]),
    "locale": (utils.LocaleType(), ["en_US", "de"], ["nonsense"]),
    "phone": (utils.PhoneNumberType(), ["+12125552368", "+358401234567"], ["x"]),
    "list": (utils.ScalarListType(), [["a", "b"], []], ["a", ["a,b"]]),
    "list of integers": (utils.ScalarListType(int), [[1, 2], [3]], [["x"]]),
    "zone": (
        utils.TimezoneType(backend="zoneinfo"),
        ["UTC", "Europe/Paris"],
        ["Nowhere/Nowhere"],
    ),
    "url": (utils.URLType(), ["https://a.example/", "b"], ["http://["]),
    "uuid": (
        utils.UUIDType(),
        [
            "12345678-1234-1234-1234-123456789012",
            "12345678-1234-1234-1234-123456789013",
        ],
        ["x"],
    ),
    "days": (utils.WeekDaysType(), ["1010101", "0000000"], ["x", "1010102"]),
    "encrypted": (ENCRYPTED(sa.String, "key", length=200), ["text", "other"], []),
    "encrypted integer": (ENCRYPTED(sa.Integer, "key", length=200), [5, 6], ["x"]),
    "encrypted boolean": (
        ENCRYPTED(sa.Boolean, "key", length=200),
        [True, False],
        ["x"],
    ),
    "encrypted date": (
        ENCRYPTED(sa.Date, "key", length=200),
        ["2026-01-01", "2026-01-02"],
        ["x"],
    ),
    "zoned time": (
        TZDateTime(),
        ["2026-01-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z"],
        ["x"],
    ),
    "enumeration": (Named(Level), ["low", "high"], ["1", "x"]),
    "numbered enumeration": (Numbered(Level), [2, 1], [3, "x"]),
    "yes or no": (YesNo(), [True, False], ["x"]),
    "object": (Temperature(), [5, 0], ["x", 1.5]),
    "even": (Even(), [2, 4], [3]),
    "rounded": (Rounded(), ["9.90", "5.00"], ["x"]),
    "GUID": (
        GUID(),
        [
            "12345678-1234-1234-1234-123456789012",
            "12345678-1234-1234-1234-123456789013",
        ],
        ["x"],
    ),
    "prefixed": (Prefixed(), ["usr_1", "usr_22"], ["x", 1, "usr_x"]),
    "same decimal": (same(sa.Numeric(8, 2)), ["9.90", "5.00"], ["x"]),
    "same float": (same(sa.Double()), [0.5, 2.25], ["x"]),
    "same date": (
        same(sa.Date()),
        ["2026-01-01", "2026-01-02"],
        ["x", "2026-01-01T15:00:00Z"],
    ),
    "same interval": (same(sa.Interval()), [90.0, 1.0], ["x"]),
}

DOCUMENTS = {
    "document": (utils.JSONType(), [{"k": 1}, [1, "a"], "text"]),
    "document in text": (JSONText(), [{"k": 1}, [1, "a"], "text", 5]),
    "document in bytes": (JSONBytes(), [{"k": 1}, [1, "a"], "AAEC"]),
    "set in JSON": (Sorted(), [["a"], ["a", "b"]]),
    "random": (
        ENCRYPTED(sa.String, "key", encrypted.FernetEngine, length=200),
        ["a", "b"],
    ),
    "random in python": (
        InPython(sa.String, "key", encrypted.FernetEngine, length=200),
        ["a", "b"],
    ),
}


@contextmanager
def client_of(type_, url, **options):
    model = model_of(value=mapped_column(type_), note=mapped_column(sa.String(20)))
    service = SQLAlchemyService(model, multi=True, **options)

    with serving_models(url, {"things": service}) as client:
        client.things = client.records["things"]
        yield client


def store(client, value):
    """Write a value that its type does not see."""
    with client.application.app_context():
        statement = sa.text("INSERT INTO thing (value) VALUES (:value)")
        client.db.session.execute(statement, {"value": value})
        client.db.session.commit()


def text_of(value):
    return quote(value if isinstance(value, str) else json.dumps(value))


@pytest.fixture(autouse=True)
def leave_out(request):
    """The type does not know the dialect of MariaDB."""
    if "mariadb-days" in request.node.name:
        pytest.skip("WeekDaysType does not work on MariaDB.")


@pytest.mark.parametrize(("type_", "values", "wrong"), TYPES.values(), ids=TYPES)
@pytest.mark.filterwarnings("ignore")
def test_a_value_is_shown_as_it_is_taken(database_url, type_, values, wrong):
    with client_of(type_, database_url) as client:
        records = [client.post("/things", json={"value": v}).json for v in values]

        assert [each["value"] for each in records] == values

        for record in records:
            value, path = text_of(record["value"]), f"/things/{record['id']}"

            assert client.get(f"/things?value={value}").json == [record]
            assert client.get(f"/things?value[$in][]={value}").json == [record]
            assert client.put(path, json=record).json == record
            assert client.patch(path, json={"value": values[0]}).status_code == 200
            assert client.patch(path, json={"value": record["value"]}).json == record

        assert client.get("/things?$sort[id]=1").json == records
        assert client.patch("/things", json={"value": values[0]}).status_code == 200


@pytest.mark.parametrize(("type_", "values", "wrong"), TYPES.values(), ids=TYPES)
@pytest.mark.filterwarnings("ignore")
def test_a_value_that_a_type_does_not_take_names_its_field(
    database_url, type_, values, wrong
):
    with client_of(type_, database_url) as client:
        record = client.post("/things", json={"value": values[0]}).json

        for value in wrong:
            body = {"value": value}
            answers = [
                client.post("/things", json=body),
                client.post("/things?$select=id", json=body),
                client.post("/things", json=[{"value": values[0]}, body]),
                client.patch("/things/1?$select=id", json=body),
                client.patch("/things?$select=id", json=body),
                client.put("/things/1?$select=id", json=body),
            ]

            assert [each.status_code for each in answers] == [400] * 6, answers[0].text
            names = [[*each.json["errors"]] for each in answers]
            assert names == [["value"]] * 2 + [["1.value"]] + [["value"]] * 3

        filters = [client.get(f"/things?value={text_of(each)}") for each in wrong]
        assert {each.status_code for each in filters} <= {400}
        assert client.get("/things").json == [record]


@pytest.mark.parametrize(("type_", "values"), DOCUMENTS.values(), ids=DOCUMENTS)
@pytest.mark.filterwarnings("ignore")
def test_a_value_that_is_not_compared_is_shown_as_it_is_taken(
    database_url, type_, values
):
    with client_of(type_, database_url) as client:
        for value in values:
            record = client.post("/things", json={"value": value}).json

            assert record["value"] == value
            assert client.get(f"/things/{record['id']}").json == record
            assert client.put(f"/things/{record['id']}", json=record).json == record

        found = client.get(f"/things?value={text_of(values[0])}")
        assert found.json["errors"] == {"value": "can be compared with null only"}
        assert client.get("/things?value[$ne]=null&$limit=0").status_code in (200, 400)


ONE_WAY = {
    "password": utils.PasswordType(schemes=["pbkdf2_sha512"]),
    "hash": Hashed(),
    "object": HashObject(),
    "array": sa.ARRAY(Hashed()),
}


@pytest.mark.parametrize("type_", ONE_WAY.values(), ids=ONE_WAY)
@pytest.mark.filterwarnings("ignore")
def test_a_hash_has_no_form(type_):
    cure = r"Give it a form .* leave it out, hidden=\['value'\]"

    with pytest.raises(ValueError, match=cure):
        with client_of(type_, "sqlite://"):
            pass


def test_a_rule_of_a_hidden_hash_is_decided_by_the_database():
    stored = {"id": 1, "value": hashlib.sha256(b"secret").hexdigest()}

    with client_of(Hashed(), "sqlite://", hidden=["value"]) as client:
        with client.application.app_context():
            meets = client.things.target.matching().test({"value": "secret"})

            assert meets(stored) is None


def test_a_rule_of_null_does_not_match_empty_text_in_json():
    values = [None, "", "null", "x", {}]

    with client_of(sa.JSON(), "sqlite://") as client:
        with client.application.app_context():
            meets = client.things.target.matching().test({"value": None})

            results = [meets({"id": 1, "value": value}) for value in values]

    assert results == [True, False, False, False, False]


def test_a_hidden_hash_is_written(database_url):
    with client_of(Hashed(), database_url, hidden=["value"]) as client:
        created = client.post("/things", json={"value": "secret"})

        with client.application.app_context():
            stored = client.things.get(created.json["id"])["value"]

    assert (created.status_code, "value" in created.json) == (201, False)
    assert stored == hashlib.sha256(b"secret").hexdigest()


def test_a_stored_value_that_can_not_be_read_spoils_its_own_record_alone(
    database_url, caplog
):
    with client_of(Even(), database_url) as client:
        client.post("/things", json=[{"value": 2}, {"value": 4}])
        store(client, 3)
        store(client, 5)

        found = client.get("/things?$sort[id]=1").json
        one = client.get("/things/3")
        changed = client.patch("/things/3", json={"note": "a"})
        corrected = client.patch("/things/3", json={"value": 6})
        removed = client.delete("/things/4")
        all_changed = client.patch("/things", json={"note": "b"})

    assert [each.get("value") for each in found] == [2, 4, None, None]
    assert "value" not in found[2]
    assert one.json == {"id": 3, "note": None}
    assert (changed.json["note"], corrected.json["value"]) == ("a", 6)
    assert (removed.status_code, all_changed.status_code) == (200, 200)
    message = "'Thing.value' of the record 3 has a value that can't be read: "
    assert f"{message}ZeroDivisionError('odd')" in caplog.text


def test_a_type_that_can_not_be_tried_is_warned_of(caplog):
    class Picky(sa.TypeDecorator):
        impl = sa.String(20)
        cache_ok = True

        def process_bind_param(self, value, dialect):
            if value is not None and not value.startswith("x-"):
                raise ValueError

            return value

    with client_of(Picky(), "sqlite://") as client:
        answers = [client.post("/things", json={"value": v}) for v in ("x-1", "y")]

    assert [each.status_code for each in answers] == [201, 400]
    assert "'Thing.value' is of type Picky(length=20), which takes none" in caplog.text
    assert "converters={Picky: Converter(read, show)}" in caplog.text


def test_a_converter_goes_before_a_trial(database_url):
    converter = Converter(lambda value: Level[value.lower()], lambda v: v.name.upper())

    with client_of(Named(Level), database_url, converters={Named: converter}) as client:
        assert client.post("/things", json={"value": "LOW"}).json["value"] == "LOW"
        assert len(client.get("/things?value=LOW").json) == 1


def test_calls_in_python_take_objects(database_url):
    with client_of(Named(Level), database_url) as client:
        with client.application.app_context():
            record = client.things.create({"value": Level.high})

        assert record["value"] == "high"
        assert client.get("/things/1").json["value"] == "high"


def test_documents_tell_the_form(database_url):
    with client_of(Named(Level), database_url) as client:
        with client.application.app_context():
            schemas = client.things.capabilities.schemas_for(None)

        schema = schemas.record["properties"]["value"]

    assert schema["enum"] == ["low", "high", None]


@pytest.mark.skipif("postgresql" not in DATABASES, reason="No PostgreSQL")
def test_items_of_arrays_on_postgresql_have_their_form(server_urls):
    with client_of(sa.ARRAY(Named(Level)), server_urls["postgresql"]) as client:
        record = client.post("/things", json={"value": ["low", "high"]}).json
        wrong = client.post("/things?$select=id", json={"value": ["x"]})

        assert record["value"] == ["low", "high"]
        assert client.put("/things/1", json=record).json == record
        assert wrong.json["errors"] == {"value": "is not one of low, high"}

    with client_of(sa.ARRAY(YesNo()), server_urls["postgresql"]) as client:
        record = client.post("/things", json={"value": [True, False]}).json

        assert record["value"] == [True, False]
        assert client.put("/things/1", json=record).json == record


@pytest.mark.skipif("postgresql" not in DATABASES, reason="No PostgreSQL")
def test_a_type_that_only_postgresql_reads_takes_no_documents(server_urls):
    with client_of(Address(), server_urls["postgresql"]) as client:
        record = client.post("/things", json={"value": "10.0.0.1"}).json
        wrong = [
            client.patch("/things/1", json={"value": value}).status_code
            for value in ({"a": 1}, ["10.0.0.1"], "x")
        ]

        assert record["value"] == "10.0.0.1"
        assert wrong == [400, 400, 400]


class Pickled(sa.TypeDecorator):
    """Pickles of objects, which it makes of documents, too."""

    impl = sa.LargeBinary
    cache_ok = True

    def process_bind_param(self, value, dialect):
        value = Box(value) if isinstance(value, dict) else value
        return None if value is None else pickle.dumps(value.opened())

    def process_result_value(self, value, dialect):
        return None if value is None else pickle.loads(value)


class PickledInJSON(sa.TypeDecorator):
    """Documents with pickles of objects, or with what became objects later."""

    impl = sa.JSON
    cache_ok = True

    def process_bind_param(self, value, dialect):
        return None if value is None else {"box": pickle.dumps(value.opened()).hex()}

    def process_result_value(self, value, dialect):
        if isinstance(value, dict) and "box" in value:
            return pickle.loads(bytes.fromhex(value["box"]))

        return None if value is None else Box(value)


class Upper(sa.TypeDecorator):
    """Boxes of texts in capital letters, of which only new ones are checked."""

    impl = sa.String(50)
    cache_ok = True

    def process_bind_param(self, value, dialect):
        if isinstance(value, str) and not value.isupper():
            raise ValueError

        return value.content if isinstance(value, Box) else value

    def process_result_value(self, value, dialect):
        return None if value is None else Box(value)


class Box:
    def __init__(self, content):
        self.content = content

    def __eq__(self, other):
        return isinstance(other, Box) and self.content == other.content

    __hash__ = None

    def opened(self):
        return self


RUNS = []


def run():
    RUNS.append(True)
    return Box("x")


class Bomb:
    def __reduce__(self):
        return run, ()


BOMB = pickle.dumps(Bomb())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (Pickled(), base64.b64encode(BOMB).decode()),
        (PickledInJSON(), {"box": BOMB.hex()}),
        (Upper(), "lower"),
    ],
    ids=["bytes", "document", "checked"],
)
def test_what_a_client_sends_is_not_read_as_stored(type_, value):
    with client_of(type_, "sqlite://") as client:
        response = client.post("/things", json={"value": value})

        assert response.status_code == 400
        assert RUNS == []


class ByVersion(sa.TypeDecorator):
    """A type that asks for the version of the server, which a connection tells."""

    impl = sa.JSON
    cache_ok = True

    def load_dialect_impl(self, dialect):
        is_new = bool(dialect.server_version_info)
        return dialect.type_descriptor(sa.JSON() if is_new else sa.Text())

    def process_bind_param(self, value, dialect):
        return value

    def process_result_value(self, value, dialect):
        return value


def test_a_type_may_ask_for_the_version_of_the_server(tmp_path):
    url = f"sqlite:///{tmp_path}/a.db"

    with client_of(ByVersion(), url) as client:
        made = client.post("/things", json={"value": {"a": 1}}).json
        # A worker that has just started.
        source = orm.sessionmaker(sa.create_engine(url))
        app, records = Flask("worker"), FlaskRecords()
        service = SQLAlchemyService(client.things.target.model, session=source)
        records.add("things", service, public=True)
        records.init_app(app)
        found = app.test_client().get("/things").json

    assert made["value"] == {"a": 1}
    assert found == [made]
