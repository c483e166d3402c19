"""The same answers written by hand with Flask, SQLAlchemy Core and orjson: no hooks, no
events, no rights, no checks beyond names and types.
"""

import datetime as dt
from urllib.parse import parse_qsl

import jwt
import orjson
import sqlalchemy as sa
from flask import Flask, request, Response

from .app import Message, prepare_sqlite, Room, SECRET, User

TABLE = Message.__table__
SELECT = sa.select(TABLE)
COUNT = sa.select(sa.func.count()).select_from(TABLE)
NAMES = tuple(str(name) for name in TABLE.c.keys())
ROOM, USER = Room.__table__, User.__table__
ROOMS, USERS = sa.select(ROOM), sa.select(USER.c.id, USER.c.email)
ROOM_NAMES, USER_NAMES = tuple(ROOM.c.keys()), ("id", "email")
IN_ROOM = TABLE.c.room_id == ROOM.c.id
JOINED = SELECT.join(ROOM, IN_ROOM)
COUNT_JOINED = COUNT.join(ROOM, IN_ROOM)
GROUPS = sa.select(TABLE.c.room_id, sa.func.count(TABLE.c.id)).group_by(TABLE.c.room_id)
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
        text = request.environ["QUERY_STRING"]

        if "group" in text:
            return find_groups(text)

        related, populated = "room.name" in text, "populate" in text
        where, order, limit, skip = query_of(text)
        count, select = (COUNT_JOINED, JOINED) if related else (COUNT, SELECT)

        with engine.connect() as connection:
            total = connection.execute(count.where(*where)).scalar()
            page = select.where(*where).order_by(*order).limit(limit).offset(skip)
            rows = connection.execute(page).all()
            data = [dict(zip(NAMES, row, strict=True)) for row in rows]

            if populated:
                ids = {each["room_id"] for each in data}
                rooms = by_id(connection, ROOMS, ROOM_NAMES, ids)
                ids = {each["owner_id"] for each in rooms.values()}
                owners = by_id(connection, USERS, USER_NAMES, ids)

                for each in rooms.values():
                    each["owner"] = owners.get(each["owner_id"])

                for each in data:
                    each["room"] = rooms.get(each["room_id"])

        return answer({"total": total, "limit": limit, "skip": skip, "data": data})

    def find_groups(text):
        values = dict(parse_qsl(text))
        where = TABLE.c.room_id < int(values["room_id[$lt]"])
        limit = int(values["$limit"])
        groups = GROUPS.where(where)

        page = groups.order_by(TABLE.c.room_id).limit(limit)
        return answer(page_of(groups, page, limit, group))

    @app.get("/rooms")
    def find_rooms():
        values = dict(parse_qsl(request.environ["QUERY_STRING"]))
        moment = dt.datetime.fromisoformat(values["messages.created_at[$gt]"])
        limit = int(values["$limit"])
        keys = sa.select(TABLE.c.room_id).where(TABLE.c.created_at > moment)
        rooms = ROOMS.where(ROOM.c.id.in_(keys))
        page = rooms.order_by(ROOM.c.id).limit(limit)
        return answer(page_of(rooms, page, limit, room))

    def page_of(every, page, limit, record):
        with engine.connect() as connection:
            count = sa.select(sa.func.count()).select_from(every.subquery())
            total = connection.execute(count).scalar()
            data = [record(row) for row in connection.execute(page).all()]

        return {"total": total, "limit": limit, "skip": 0, "data": data}

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
        elif name == "room.name":
            where.append(ROOM.c.name == value)
        elif name == "$populate":
            continue
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


def room(row):
    return dict(zip(ROOM_NAMES, row, strict=True))


def group(row):
    return {"room_id": row[0], "$count": {"id": row[1]}}


def by_id(connection, select, names, ids):
    """The records of identifiers, by these."""
    table = select.get_final_froms()[0]
    rows = connection.execute(select.where(table.c.id.in_(ids))).all()
    return {row[0]: dict(zip(names, row, strict=True)) for row in rows}


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
