#!/usr/bin/env bash
# SQLAlchemy 2.1.9 on SQLite 3: sa.UUID(), in capitals, stores some UUIDs as numbers.
#
# The column of sa.UUID() is declared "UUID", a name from which SQLite takes NUMERIC
# affinity: text that looks like a number becomes one. The 32 hexadecimal digits of
# about three random UUIDs in a million do (digits alone, or digits around one "e").
# Such a value is found by itself, as the affinity holds for the parameter, too, and
# can't be read any more. The column of sa.Uuid() is CHAR(32), and keeps it.
# postgresql.UUID is the class of sa.UUID, and has the same column on SQLite.
#
# Output seen:
#   UUID: stored as real, found 1, read: AttributeError
#   Uuid: stored as text, found 1, read: 10000000-2000-4000-8000-300000000000
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet sqlalchemy==2.1.9

cat >"$folder/keys.py" <<'PYTHON'
import uuid

import sqlalchemy as sa

KEY = uuid.UUID("10000000-2000-4000-8000-300000000000")


def tell(type_):
    engine, metadata = sa.create_engine("sqlite://"), sa.MetaData()
    table = sa.Table("keys", metadata, sa.Column("key", type_()))
    metadata.create_all(engine)

    with engine.begin() as connection:
        connection.execute(table.insert().values(key=KEY))
        stored = connection.exec_driver_sql("SELECT typeof(key) FROM keys").scalar()
        where = table.c.key == KEY
        found = connection.execute(sa.select(sa.func.count()).where(where)).scalar()

        try:
            read = connection.execute(sa.select(table.c.key)).scalar()
        except Exception as error:
            read = type(error).__name__

    print(f"{type_.__name__}: stored as {stored}, found {found}, read: {read}")


tell(sa.UUID)
tell(sa.Uuid)
PYTHON

seen=$("$folder/venv/bin/python" "$folder/keys.py")
printf '%s\n' "$seen"
[ "$seen" = "UUID: stored as real, found 1, read: AttributeError
Uuid: stored as text, found 1, read: 10000000-2000-4000-8000-300000000000" ]
