"""Values of bodies whose names a schema does not have."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ..problems import READ_ONLY
from ..problems import UNKNOWN_FIELD
from ..query.bounds import shortened
from ..validation.schema import Beside

if t.TYPE_CHECKING:
    from .view import Views


def beside_schema(
    views: Views, body: Mapping[str, t.Any], *, is_compared: bool
) -> Beside:
    """Return the fate of values whose names a schema does not have.

    Front ends send whole records back. So values of fields that the schema leaves out
    are taken if the record has them, and are refused as those of read-only fields
    otherwise.

    :param is_compared: ``True`` if there is a record to compare the values with.
    """
    fields, relations = views.fields, views.relations
    beside = Beside({}, {})

    for name, value in body.items():
        is_shown = name in fields.names or name in relations.shown
        is_shown = is_shown and name not in relations.writable

        if is_compared and is_shown:
            beside.compared[name] = value
        elif name not in fields.names:
            beside.problems[shortened(name)] = UNKNOWN_FIELD
        # Front ends send a new record with a null for its identifier.
        elif not (value is None and name == fields.id.name):
            if not fields.body.is_ignored(name):
                beside.problems[name] = READ_ONLY

    return beside
