#!/usr/bin/env bash
# SQLAlchemy 2.0.44 and psycopg 3.2.12 on PostgreSQL 15: a column of a DOMAIN over a
# TypeDecorator, such as one that encrypts, stores what the application gives as it is,
# and gives back what is stored as it is, without an error. The type makes the DDL of the
# domain only: its code runs for a column of the type, not for one of a domain over it.
#
# Output seen:
#   stored by the type: terces
#   stored by a domain over it: secret
#
# It needs a PostgreSQL server, of which PGURL may name another. It leaves nothing there.
# Exits with an error if the domain runs the code of its type.
set -euo pipefail
: "${PGURL:=postgresql+psycopg://postgres@127.0.0.1:5432/test}"
export PGURL
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet sqlalchemy==2.0.44 'psycopg[binary]==3.2.12'

cat >"$folder/domains.py" <<'PYTHON'
import os

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import DOMAIN


class Reversed(sa.TypeDecorator):
    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value, dialect):
        return value[::-1]

    def process_result_value(self, value, dialect):
        return value[::-1]


table = sa.Table(
    "domain_over_a_type",
    sa.MetaData(),
    sa.Column("plain", Reversed),
    sa.Column("domain", DOMAIN("reversed_text", Reversed)),
)

# PostgreSQL undoes what is created here at the end, since nothing commits it.
with sa.create_engine(os.environ["PGURL"]).connect() as connection:
    table.metadata.create_all(connection)
    connection.execute(table.insert().values(plain="secret", domain="secret"))
    assert connection.execute(table.select()).one() == ("secret", "secret")
    stored = connection.exec_driver_sql("SELECT * FROM domain_over_a_type").one()

print("stored by the type:", stored.plain)
print("stored by a domain over it:", stored.domain)
assert stored == ("terces", "secret")
PYTHON

"$folder/venv/bin/python" "$folder/domains.py"
