#!/usr/bin/env bash
# SQLAlchemy 2.0.44 on PostgreSQL 15: the recipe "Server Side Version Counters" of its
# documentation, a version in the system column xmin that is declared as String, updates
# no row with psycopg 3.2.12. The dialect casts each parameter to the type of its column,
# and the database has no operator for xid = character varying. With psycopg2 2.9.11,
# which sends a literal without a type, the same class works. A type whose name is xid
# works with both.
#
# Output seen:
#   postgresql+psycopg2 String: updated
#   postgresql+psycopg2 XID: updated
#   postgresql+psycopg String: operator does not exist: xid = character varying
#   postgresql+psycopg XID: updated
#
# It needs a PostgreSQL server, of which PGURL may name another.
# Exits with an error if the recipe updates a row with psycopg.
set -euo pipefail
: "${PGURL:=postgresql://postgres@127.0.0.1:5432/test}"
export PGURL
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet sqlalchemy==2.0.44 'psycopg[binary]==3.2.12' \
  psycopg2-binary==2.9.11

cat >"$folder/versions.py" <<'PYTHON'
import os

import sqlalchemy as sa
from sqlalchemy import orm


class XID(sa.types.UserDefinedType):
    cache_ok = True

    def get_col_spec(self, **options):
        return "xid"


def update(driver, type_):
    class Base(orm.DeclarativeBase):
        pass

    class User(Base):
        __tablename__ = "user_with_xmin"

        id = orm.mapped_column(sa.Integer, primary_key=True)
        name = orm.mapped_column(sa.String(50))
        xmin = orm.mapped_column(
            "xmin", type_, system=True, server_default=sa.FetchedValue()
        )
        __mapper_args__ = {"version_id_col": xmin, "version_id_generator": False}

    url = sa.make_url(os.environ["PGURL"]).set(drivername=driver)
    engine = sa.create_engine(url)
    Base.metadata.create_all(engine)

    try:
        with orm.Session(engine) as session:
            user = User(name="u1")
            session.add(user)
            session.commit()
            user.name = "u2"
            session.commit()
            return "updated"
    except sa.exc.ProgrammingError as error:
        return str(error.orig).splitlines()[0]
    finally:
        Base.metadata.drop_all(engine)


results = {}

for driver in ("postgresql+psycopg2", "postgresql+psycopg"):
    for type_ in (sa.String, XID):
        results[driver, type_] = update(driver, type_)
        print(f"{driver} {type_.__name__}: {results[driver, type_]}")

named = [value for (_, type_), value in results.items() if type_ is XID]
assert results["postgresql+psycopg2", sa.String] == "updated"
assert named == ["updated", "updated"]
assert results["postgresql+psycopg", sa.String].startswith("operator does not exist")
PYTHON

"$folder/venv/bin/python" "$folder/versions.py"
