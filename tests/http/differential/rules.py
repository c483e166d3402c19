"""Rules by which databases change what they store, as their page in the docs has it."""

import datetime as dt


def whole_seconds(database, value):
    """Columns without a number of digits have no fractions of a second on MariaDB."""
    if database != "mariadb":
        return value

    if isinstance(value, dt.timedelta):
        return dt.timedelta(seconds=value // dt.timedelta(seconds=1))

    return value.replace(microsecond=0)


def padded(database, value):
    """Spaces fill the column on PostgreSQL, and are cut off on MariaDB."""
    forms = {"postgresql": value.ljust(5), "mariadb": value.rstrip(" ")}
    return forms.get(database, value)
