"""The same answers written by hand with Flask, SQLAlchemy Core and orjson: no hooks, no
events, no rights, no checks beyond names and types.
"""

from __future__ import annotations

import datetime as dt
from urllib.parse import parse_qsl

import jwt
import orjson
import sqlalchemy as sa
from flask import Flask, request, Response

from .app import Message, prepare_sqlite, SECRET, User

TABLE = Message.__table__
SELECT = sa.select(TABLE)
COUNT = sa.select(sa.func.count()).select_from(TABLE)
NAMES = tuple(str(name) for name in TABLE.c.keys())
READ = {
    **dict.fromkeys(("id", "room_id", "user_id"), int),
    **dict.fromkeys(("read", "archived"), "true".__eq__),
    "created_at": dt.datetime.fromisoformat,
}
AUDIENCE = "https://yourdomain.com"
OPERATORS = {"$gt": "__gt__", "$lt": "__lt__"}


def create_app(url):
    """Return the application over a database."""
    engine = sa.create_engine(
        url, isolation_level="AUTOCOMMIT", pool_reset_on_return=None
    )
    sa.event.listen(engine, "connect", prepare_sqlite)
    app = Flask("floor", static_folder=None)

    @app.get("/messages")
    def find():
        where, order, limit, skip = query_of(request.environ["QUERY_STRING"])

        with engine.connect() as connection:
            total = connection.execute(COUNT.where(*where)).scalar()
            page = SELECT.where(*where).order_by(*order).limit(limit).offset(skip)
            rows = connection.execute(page).all()

        data = [dict(zip(NAMES, row, strict=True)) for row in rows]
        return answer({"total": total, "limit": limit, "skip": skip, "data": data})

    @app.get("/messages/<id>")
    def get(id):
        with engine.connect() as connection:
            found = connection.execute(SELECT.where(TABLE.c.id == int(id))).first()

        return one(found, id)

    @app.post("/messages")
    def create():
        data = orjson.loads(request.get_data(cache=False))
        bodies = data if isinstance(data, list) else [data]

        for body in bodies:
            body["created_at"] = dt.datetime.fromisoformat(body["created_at"])

        with engine.connect() as connection:
            rows = connection.execute(TABLE.insert().returning(*TABLE.c), bodies).all()

        records = [dict(zip(NAMES, row, strict=True)) for row in rows]
        return answer(records if data is bodies else records[0], 201)

    @app.patch("/messages/<id>")
    def patch(id):
        data = orjson.loads(request.get_data(cache=False))
        statement = TABLE.update().where(TABLE.c.id == int(id)).values(data)

        with engine.connect() as connection:
            return one(connection.execute(statement.returning(*TABLE.c)).first(), id)

    @app.get("/secured/<id>")
    def secured(id):
        token = request.headers["Authorization"].removeprefix("Bearer ")
        claims = jwt.decode(token, SECRET, ["HS256"], audience=AUDIENCE)
        user = sa.select(User.id, User.email).where(User.id == int(claims["sub"]))

        with engine.connect() as connection:
            connection.execute(user).one()

        return get(id)

    return app


def query_of(text):
    where, order, limit, skip, either = [], [], 10, 0, {}

    for name, value in parse_qsl(text):
        if name == "$limit":
            limit = int(value)
        elif name == "$skip":
            skip = int(value)
        elif name.startswith("$sort["):
            column = TABLE.c[name[6:-1]]
            order.append(column.desc() if value == "-1" else column)
        elif name.startswith("$or["):
            index, _, rest = name[4:].partition("]")
            column, _, operator = rest[1:-1].partition("][")
            either.setdefault(index, []).append(term(column, operator, value))
        else:
            column, _, operator = name.partition("[")
            where.append(term(column, operator[:-1], value))

    if either:
        where.append(sa.or_(*(sa.and_(*terms) for terms in either.values())))

    return where, order, limit, skip


def term(name, operator, value):
    compare = getattr(TABLE.c[name], OPERATORS.get(operator, "__eq__"))
    return compare(READ[name](value))


def one(row, id):
    if row is None:
        message = f"No record found for id '{id}'"
        return answer({"name": "NotFound", "message": message, "code": 404}, 404)

    return answer(dict(zip(NAMES, row, strict=True)))


def answer(value, status=200):
    return Response(orjson.dumps(value), status, mimetype="application/json")
