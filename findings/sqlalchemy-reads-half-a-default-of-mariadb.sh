#!/usr/bin/env bash
# SQLAlchemy 2.0.44 and PyMySQL 1.1.2 on MariaDB 10.11: a reflected column has the
# beginning of a default that is an expression, cut off at its first space, with a
# bracket that is never closed. Metadata.create_all() of the reflected table is then a
# syntax error, and the text is no expression for a SELECT. The inspector and the
# reflected Table have the same text. DEFAULT(column) has the value in MariaDB.
#
# Output seen:
#   reflected: (last_day('2026-01-01')
#   the default is: 2026-02-01
#
# It needs a MariaDB server, of which MARIADB_URL may name another.
# Exits with an error if the default is whole.
set -euo pipefail
: "${MARIADB_URL:=mariadb+pymysql://root@127.0.0.1:3306/test}"
export MARIADB_URL
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet sqlalchemy==2.0.44 pymysql==1.1.2

cat >"$folder/defaults.py" <<'PYTHON'
import os

import sqlalchemy as sa

NAME = "default_of_an_expression"

engine = sa.create_engine(os.environ["MARIADB_URL"])

with engine.begin() as connection:
    connection.exec_driver_sql(f"DROP TABLE IF EXISTS {NAME}")
    connection.exec_driver_sql(
        f"CREATE TABLE {NAME} (id INT PRIMARY KEY,"
        " day DATE DEFAULT (LAST_DAY('2026-01-01') + INTERVAL 1 DAY))"
    )
    connection.exec_driver_sql(f"INSERT INTO {NAME} (id) VALUES (1)")
    [_, column] = sa.inspect(connection).get_columns(NAME)
    value = connection.exec_driver_sql(f"SELECT DEFAULT(day) FROM {NAME}").scalar()
    connection.exec_driver_sql(f"DROP TABLE {NAME}")

print("reflected:", column["default"])
print("the default is:", value)
assert column["default"].count("(") > column["default"].count(")")
PYTHON

"$folder/venv/bin/python" "$folder/defaults.py"
