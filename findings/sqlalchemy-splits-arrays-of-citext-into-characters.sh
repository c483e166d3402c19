#!/usr/bin/env bash
# SQLAlchemy 2.0.44 and psycopg 3.2.12 on PostgreSQL 15: a column of ARRAY(CITEXT), as
# reflection makes one too, takes a list of texts, and gives back the characters of the
# literal of the array, as a list, without an error. The driver does not know the type,
# and leaves its text as it is, which SQLAlchemy iterates over. What is read and written
# again is stored like this. Arrays of TEXT, and enumerations, come back as written.
#
# Output seen:
#   written: ['Ab', 'c']
#   ARRAY(TEXT): ['Ab', 'c']
#   ARRAY(CITEXT): ['{', 'A', 'b', ',', 'c', '}']
#
# It needs a PostgreSQL server with the extension, of which PGURL may name another.
# Exits with an error if the array of CITEXT comes back as written.
set -euo pipefail
: "${PGURL:=postgresql+psycopg://postgres@127.0.0.1:5432/test}"
export PGURL
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet sqlalchemy==2.0.44 'psycopg[binary]==3.2.12'

cat >"$folder/arrays.py" <<'PYTHON'
import os

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, CITEXT

table = sa.Table(
    "array_of_citext",
    sa.MetaData(),
    sa.Column("texts", ARRAY(sa.Text)),
    sa.Column("citexts", ARRAY(CITEXT)),
    prefixes=["TEMPORARY"],
)
written = ["Ab", "c"]

with sa.create_engine(os.environ["PGURL"]).connect() as connection:
    connection.exec_driver_sql("CREATE EXTENSION IF NOT EXISTS citext")
    table.create(connection)
    connection.execute(table.insert().values(texts=written, citexts=written))
    texts, citexts = connection.execute(table.select()).one()

print("written:", written)
print("ARRAY(TEXT):", texts)
print("ARRAY(CITEXT):", citexts)
assert texts == written
assert citexts == list("{Ab,c}")
PYTHON

"$folder/venv/bin/python" "$folder/arrays.py"
