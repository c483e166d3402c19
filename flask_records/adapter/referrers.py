"""Records that refer to one that is to be removed."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa
from flask import current_app
from flask import has_app_context

from .. import problems
from ..errors import Conflict

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .attempt import Attempt
    from .violations import Violation


def referred_to(violation: Violation, attempt: Attempt) -> Conflict:
    """Return the error of a record that others refer to. It names their service if the
    database says, or the tables of the models say, that only they can.
    """
    if attempt.fields is None:
        return Conflict("Other records still refer to this one.")

    paths = list(_paths(violation, attempt.fields.mapper.tables))
    is_known = len(paths) == 1
    subject = f"Records of '{paths[0]}'" if is_known else "Other records"
    return Conflict(
        f"{subject} still refer to this one.",
        errors={
            attempt.fields.id.name: problems.referred_to(paths[0] if is_known else None)
        },
    )


def _paths(violation: Violation, tables: t.Sequence[t.Any]) -> Iterator[str]:
    """Yield the paths of the services whose records may refer to those of tables, once
    for each table.
    """
    # Without an application there are no services.
    extension = current_app.extensions.get("records") if has_app_context() else None
    services = {} if extension is None else extension.services
    seen = set()

    for path, service in services.items():
        mapper = sa.inspect(service.capabilities.model, raiseerr=False)

        for table in () if mapper is None else mapper.tables:
            if table not in seen and _is_meant(table, tables, violation):
                seen.add(table)
                yield path


def _is_meant(table: t.Any, tables: t.Sequence[t.Any], violation: Violation) -> bool:
    """Return ``True`` if a table has a key to one of some tables, and the database does
    not say that it means another table, or another column.
    """
    if violation.table not in ("", table.name):
        return False

    return any(
        key.column.table in tables
        and (not violation.columns or key.parent.name in violation.columns)
        for key in table.foreign_keys
    )
