"""Serves each mapped class of some modules, and does with it what a client does.

``python -m tests.public_models`` runs this file with the Python of each package, which
has nothing of the tests: ``python serve.py URL MODULES REPORT``. The database is empty.
"""

import datetime as dt
import importlib
import json
import logging
import re
import sys
import uuid
import warnings
from collections import Counter
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from pathlib import Path
from urllib.parse import quote

import sqlalchemy as sa
from flask import Flask
from sqlalchemy import orm

from flask_records import FlaskRecords, SQLAlchemyService
from flask_records.names import METHODS
from flask_records.openapi import document

TEXTS = [
    *("sample", "5", "127.0.0.1", "a@example.com", "https://example.com/", "US", "en"),
    *("USD", "UTC", "red", "+12125552368", "1010101", "2026-01-01", "10.0.0.0/24"),
    *("00:11:22:33:44:55", "[1,5)", "[2026-01-01,2026-02-01)", "a", "sample-2", "{}"),
]
"""Texts for fields whose schema says no more than that they are texts."""

FORMATS = {
    "date-time": ["2026-01-02T03:04:05.678Z", "2027-01-02T03:04:05.000Z"],
    "date": ["2026-01-02", "2027-01-02"],
    "time-local": ["03:04:05", "13:04:05"],
    "uuid": [
        "a2345678-1234-4234-9234-123456789abc",
        "b2345678-1234-4234-9234-123456789abc",
    ],
    "decimal": ["1", "0", "1.5"],
}
"""Values by the format of a schema."""

SAMPLES = {
    **{int: 1, str: TEXTS[0], bool: True, float: 1.5, Decimal: Decimal(1)},
    **{dict: {}, list: [], bytes: b"", uuid.UUID: uuid.UUID(FORMATS["uuid"][0])},
    **{dt.datetime: dt.datetime(2026, 1, 2), dt.date: dt.date(2026, 1, 2)},
}
"""Values of rows by their class."""

MAX_TRIES = 25
"""The number of bodies that are tried until one is taken."""

EXTENSIONS = ("citext", "hstore", "pg_trgm", "btree_gist", '"uuid-ossp"')
"""The extensions of PostgreSQL that tables may need."""


class Failed(logging.Handler):
    """Remembers the last exception in the log."""

    cause = ""

    def emit(self, record):
        if record.exc_info and record.exc_info[1]:
            self.cause = f"{record.exc_info[1]!r}"[:300]


LOG = Failed()


class Database:
    """An empty database with the tables of some classes, without foreign keys, so that
    no row needs another one.

    :param url: Its URL.
    :param mappers: The mappers of the classes.
    """

    def __init__(self, url, mappers):
        pool = {"poolclass": sa.StaticPool} if url.startswith("sqlite") else {}
        self.engine = sa.create_engine(url, **pool)
        named = {table for mapper in mappers for table in mapper.tables}
        # Those of a metadata have the tables between two classes, too.
        tables = {other for table in named for other in table.metadata.tables.values()}
        self.missing = {}
        """The messages of the database about tables that it does not create."""
        schemas = {table.schema for table in tables if table.schema}

        if self.engine.name == "sqlite":
            before = [f"ATTACH ':memory:' AS \"{schema}\"" for schema in schemas]
        else:
            before = []
            once = [f'CREATE SCHEMA IF NOT EXISTS "{schema}"' for schema in schemas]
            once += [f"CREATE EXTENSION IF NOT EXISTS {each}" for each in EXTENSIONS]

            for statement in once:
                self.try_statement(sa.text(statement))

        @sa.event.listens_for(self.engine, "connect")
        def prepare(connection, record):
            for statement in before:
                connection.cursor().execute(statement)

            connection.commit()

        self.engine.dispose()

        for table in tables:
            for column in table.columns:
                if isinstance(column.type, sa.Enum):
                    column.type.create(self.engine, checkfirst=True)

                if isinstance(column.default, sa.Sequence):
                    column.default.create(self.engine, checkfirst=True)

            statement = sa.schema.CreateTable(table, include_foreign_key_constraints=[])
            error = self.try_statement(statement)

            if error:
                self.missing[table] = error
                continue

            for index in table.indexes:
                # The other ones are for speed, and may need an extension.
                if index.unique:
                    self.try_statement(sa.schema.CreateIndex(index))

    def try_statement(self, statement):
        """Return the error of a statement, or ``None`` if there is none."""
        try:
            with self.engine.begin() as connection:
                connection.execute(statement)
        except Exception as error:
            return f"{error}".splitlines()[0]

    def empty(self, tables):
        for table in tables:
            if isinstance(table, sa.Table) and table not in self.missing:
                self.try_statement(table.delete())

    def fill(self, tables):
        """Add the records that the first samples of foreign keys refer to, as far as
        the types of their columns take samples.
        """
        keys = [key for table in tables for key in table.foreign_keys]
        others = {key.column.table for key in keys} - set(tables)

        for table in others:
            values = {c.name: row_value(c) for c in table.columns if not c.nullable}
            # A column may have a default.
            values = {n: each for n, each in values.items() if each is not None}
            self.try_statement(table.insert().values(values))

        return others


class Client:
    """A client of a service over one class.

    :param mapper: The mapper of the class.
    :param engine: The engine of the database.
    :raises Exception: The class is refused at the start.
    """

    def __init__(self, mapper, engine, methods=METHODS, **options):
        self.mapper, self.model, self.methods = mapper, mapper.class_, methods
        session = orm.sessionmaker(engine)
        service = SQLAlchemyService(
            self.model, session=session, whitelist=["$null"], **options
        )
        records = FlaskRecords()
        records.add("things", service, public=True, methods=methods)
        app = Flask("served")
        records.init_app(app)

        with app.app_context():
            self.id, described = service.id, document()
            self.schemas = described["components"]["schemas"]
            find = described["paths"]["/things"]["get"]
            self.parameters = {each.get("name") for each in find["parameters"]}

        self.client = app.test_client()
        self.findings, self.requests = [], 0

    def say(self, kind, about, text):
        self.findings.append([kind, f"{self.model.__name__}: {about}", f"{text}"[:400]])

    def fields(self, method):
        """The schemas of the fields of a body, or of an answer, by name."""
        return self.schemas.get(f"Things{method}", {}).get("properties", {})

    def ask(self, about, verb, path="", **request):
        """Send a request, and return its answer, or ``None`` if it is an error."""
        LOG.cause = ""
        self.requests += 1
        answer = self.client.open(f"/things{path}", method=verb, **request)

        if answer.status_code >= 500:
            self.say("5xx", about, LOG.cause or answer.text)
        elif answer.status_code >= 400:
            error = answer.json
            text = error["message"].splitlines()[0]
            self.say(f"{answer.status_code}", about, f"{text} {error['errors'] or ''}")

        return answer.json if answer.status_code < 400 else None

    def compare(self, about, shown, expected, is_new=False):
        """Report fields whose values are others than expected.

        :param is_new: ``True`` for values of this file, of which types of the package
            may make others.
        """
        for name, value in expected.items():
            if name in shown and not is_same(shown[name], value):
                column = self.mapper.columns.get(name)
                is_own = isinstance(getattr(column, "type", None), sa.TypeDecorator)
                kind = "other form" if is_new and is_own else "wrong"
                self.say(kind, f"{about} {name}", f"{value!r} became {shown[name]!r}")

    def create(self, about, names, offset=0):
        """Create a record with values for some fields, and return it, or ``None``.

        A field whose value is refused gets another value in the next try.
        """
        schemas = self.fields("Create")
        values = {name: candidates(schemas[name], self.schemas) for name in names}
        indexes = dict.fromkeys(names, offset)

        for _ in range(MAX_TRIES):
            body = {
                name: values[name][index % len(values[name])]
                for name, index in indexes.items()
                if values[name]
            }
            begun = len(self.findings)
            record = self.ask(about, "POST", json=body)

            if record is not None:
                self.compare(about, record, body, is_new=True)
                return record

            kind = self.findings[-1][0]
            errors = self.client.post("/things", json=body).json["errors"]
            refused = set(errors) & set(names) if isinstance(errors, dict) else set()

            if kind == "5xx" or not refused:
                return None

            del self.findings[begun:]

            for name in refused:
                indexes[name] += 1

                if indexes[name] >= len(values[name]) + offset:
                    self.say("400", f"{about} {name}", errors[name])
                    return None

        self.say("400", about, "no body is taken")
        return None

    def path_of(self, record):
        return f"/{quoted(record[self.id])}"

    def try_all(self):
        """Do all that a client does."""
        if "create" not in self.methods:
            return

        whole = self.create("create whole", [*self.fields("Create")])
        required = self.schemas.get("ThingsCreate", {}).get("required", [])
        small = self.create("create small", required, offset=1)
        record = whole or small

        if record is None:
            return

        self.read(record)

        # Its values may have to be unique.
        if whole and small:
            self.remove(small)

        self.write(record)
        self.remove(record)

    def remove(self, record):
        path = self.path_of(record)
        removed = self.ask("remove", "DELETE", path)

        if removed and self.client.get(f"/things{path}").status_code != 404:
            self.say("wrong", "remove", "the record is still there")

    def read(self, record):
        found = self.ask("find", "GET")

        if found is not None:
            self.includes("find", found, record)

        got = self.ask("get", "GET", self.path_of(record))
        self.compare("get", got or {}, record)

        for name, value in record.items():
            self.filter(name, value)

            if f"$sort[{name}]" in self.parameters:
                self.ask(f"sort {name}", "GET", f"?$sort[{quoted(name)}]=-1")

            selected = self.ask(
                f"select {name}",
                "GET",
                f"{self.path_of(record)}?$select={quoted(name)}",
            )
            self.compare(f"select {name}", selected or {}, {name: value})

    def filter(self, name, value):
        """Find the record by the value that is shown."""
        text = value if isinstance(value, str) else json.dumps(value)
        operators = {"": text, "[$in][]": text, "[$lte]": text, "[$gte]": text}

        if value is None:
            operators = {"[$null]": "true"}
        elif isinstance(value, (list, dict)):
            operators = {"": text}

        for operator, operand in operators.items():
            # The document has no comparison that the service does not know.
            if f"{name}{operator.removesuffix('[]')}" not in self.parameters:
                continue

            about = f"filter {name}{operator}"
            found = self.ask(
                about, "GET", f"?{quoted(name)}{operator}={quoted(operand)}"
            )

            if found is not None and not any(each[name] == value for each in found):
                self.say("missed", about, f"{text} finds {len(found)} others")

    def includes(self, about, found, record):
        same = [each for each in found if each[self.id] == record[self.id]]

        if len(same) == 1:
            self.compare(about, same[0], record)
        else:
            self.say("missed", about, f"the record is there {len(same)} times")

    def write(self, record):
        path = self.path_of(record)
        shown = self.ask("get", "GET", path) or record

        for name, schema in self.fields("Patch").items():
            if name not in shown:
                continue

            others = candidates(schema, self.schemas)[:2]
            # Its own value comes last, so that the record is as it was.
            for value in (*others, shown[name]):
                is_own = value is shown[name]
                about = f"patch {name} {'with its own value' if is_own else ''}".strip()
                begun = len(self.findings)
                patched = self.ask(about, "PATCH", path, json={name: value})

                if patched is not None:
                    self.compare(about, patched, {name: value}, is_new=not is_own)
                elif not is_own and self.findings[-1][0] == "400":
                    # The schema does not tell all that the application checks.
                    del self.findings[begun:]

        shown = self.ask("get", "GET", path)

        if shown is None:
            return

        updatable = self.fields("Update")
        changing = {
            name
            for name, column in self.mapper.columns.items()
            if getattr(column, "onupdate", None)
        }
        body = {name: value for name, value in shown.items() if name in updatable}
        replaced = self.ask("put", "PUT", path, json=body)
        same = {name: body[name] for name in body.keys() - changing}
        self.compare("put", replaced or {}, same)


def client_of(mapper, engine):
    """The client of a class, with the options that refusals at the start name, or
    ``None``, and these refusals.
    """
    options, refusals = {"hidden": []}, []

    while len(refusals) < MAX_TRIES:
        try:
            return Client(mapper, engine, **options), refusals
        except Exception as error:
            refusals.append(f"{error!r}")

        hidden = re.search(r"hidden=\['(\w+)'\]", refusals[-1])
        id_ = re.search(r"id='(\w+)'\)", refusals[-1])
        methods = re.search(r"methods=(\[.*?\])", refusals[-1])

        if hidden and hidden[1] not in options["hidden"]:
            options["hidden"].append(hidden[1])
        elif id_ and "id" not in options:
            options["id"] = id_[1]
        elif methods:
            options["methods"] = json.loads(methods[1].replace("'", '"'))
        else:
            break

    return None, refusals


def row_value(column):
    """A value for a column of a row, the same as the first sample for a client."""
    type_ = getattr(column.type, "impl_instance", column.type)

    with suppress(NotImplementedError):
        sample = SAMPLES.get(type_.python_type)
        length = getattr(type_, "length", None)
        return sample[:length] if isinstance(sample, str) else sample


def quoted(value):
    return quote(f"{value}", safe="")


def is_same(value, other):
    """Return ``True`` for equal values of JSON, or texts of one number or moment."""
    if value == other:
        return True

    if not (isinstance(value, str) and isinstance(other, str)):
        return False

    with suppress(InvalidOperation):
        return Decimal(value) == Decimal(other)

    with suppress(ValueError):
        moments = [dt.datetime.fromisoformat(each) for each in (value, other)]
        return len({each.replace(tzinfo=None) for each in moments}) == 1

    return False


def candidates(schema, schemas):
    """Return values for a field, those that are the likeliest first."""
    if "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]

    if "anyOf" in schema:
        return [v for each in schema["anyOf"] for v in candidates(each, schemas)]

    if "enum" in schema:
        return [each for each in schema["enum"] if each is not None]

    types = schema.get("type", "any")
    type_ = types if isinstance(types, str) else next(t for t in types if t != "null")
    low, high = schema.get("minimum", 1), schema.get("maximum", 10**6)
    numbers = [each for each in (1, 2, 5, low, high) if low <= each <= high]

    if type_ == "string":
        return texts(schema)

    if type_ == "array":
        items = candidates(schema.get("items", {}), schemas)
        return [[items[0]], items[:2], []] if items else [[]]

    return {
        "integer": numbers,
        "number": [1.5, 2],
        "boolean": [True, False],
        "object": [{"a": 1}, {}],
        "any": [{"a": [1]}, [1], "sample", 5, True, {}],
        "null": [],
    }[type_]


def texts(schema):
    if "contentEncoding" in schema:
        values = ["AAECAw==", "YWJj"]
    else:
        values = FORMATS.get(schema.get("format"), TEXTS)

    size = schema.get("maxLength", 255)
    return [value[:size] for value in values]


def mappers_of(modules):
    """The mappers of the classes in modules, and in those below, by their names."""
    names = tuple(f"{module}." for module in modules)
    mappers = []

    @sa.event.listens_for(orm.Mapper, "after_mapper_constructed")
    def remember(mapper, class_):
        if f"{class_.__module__}.".startswith(names):
            mappers.append(mapper)

    for module in modules:
        importlib.import_module(module)

    orm.configure_mappers()
    return sorted(
        mappers, key=lambda each: (each.class_.__module__, each.class_.__name__)
    )


def main(url, modules, path):
    """Write a report of all classes of some modules."""
    logging.getLogger().addHandler(LOG)
    warnings.simplefilter("ignore")

    mappers = mappers_of(modules)
    database = Database(url, mappers)
    counts, findings = Counter(), []

    for mapper in mappers:
        counts["classes"] += 1
        name = mapper.class_.__name__
        errors = [database.missing[t] for t in mapper.tables if t in database.missing]

        if errors:
            findings.append(["no table", name, errors[0][:200]])
            continue

        client, refusals = client_of(mapper, database.engine)
        findings += [["refused", name, each] for each in refusals]

        if client is None:
            continue

        counts["served"] += 1

        others = database.fill(mapper.tables)
        client.try_all()
        database.empty([*mapper.tables, *others])
        findings += client.findings
        counts["requests"] += client.requests

    report = {"counts": counts, "findings": findings, "sqlalchemy": sa.__version__}
    Path(path).write_text(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2].split(","), sys.argv[3])
