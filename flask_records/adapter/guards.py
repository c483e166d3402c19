"""Fields of bodies that a client may write to some records only."""

from __future__ import annotations

import typing as t

from ..problems import CHANGED, READ_ONLY
from ..query.plans import Selection
from ..query.refusals import refuse
from .reads import read_keyed

if t.TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ..query.field_conditions import FieldCondition
    from ..typing import Record
    from .calls import ResolvedCall
    from .writing import Writing


class Guards(t.NamedTuple):
    """The guarded fields that the body of a client names. A record has to be looked at
    before it is changed, and once it is created.
    """

    write_once: Collection[str] = ()
    """The fields that keep the value that the record was created with."""

    conditions: tuple[FieldCondition, ...] = ()
    """The queries that a record has to meet."""

    visible: Collection[str] = ()
    """The fields that the client sees in all records, and may send back unchanged."""

    def check_changes(
        self,
        writing: Writing,
        call: ResolvedCall,
        instances: Sequence[t.Any],
        values: Record,
    ) -> None:
        """Refuse to change records, if a client may not.

        :param instances: The instances of the records, as they are stored.
        :param values: The new values.
        :raises BadRequest: The client may not write a value to one of the records. The
            value that a record has already is no problem, if the client sees it.
        """
        problems = {
            name: CHANGED
            for name in self.write_once
            if self._changed(instances, name, values)
        }

        for condition, refused in self._refused(writing, call, instances):
            for name in condition.names:
                if refused and self._changed(refused, name, values):
                    problems[name] = READ_ONLY

        refuse(problems)

    def check_new(
        self,
        writing: Writing,
        call: ResolvedCall,
        instances: Sequence[t.Any],
        bodies: Sequence[Record],
        *,
        is_list: bool,
    ) -> None:
        """Refuse new records with values that a client may not write to them.

        :param instances: The instances of the records.
        :param bodies: Their values.
        :param is_list: ``True`` if errors name the places of the bodies.
        :raises BadRequest: The client may not write a value to one of the records.
        """
        problems = {}
        bodies_of = {id(one): each for one, each in zip(instances, bodies, strict=True)}
        places = {id(instance): index for index, instance in enumerate(instances)}

        for condition, refused in self._refused(writing, call, instances):
            for instance in refused:
                for name in bodies_of[id(instance)].keys() & set(condition.names):
                    place = f"{places[id(instance)]}." if is_list else ""
                    problems[f"{place}{name}"] = READ_ONLY

        refuse(problems)

    def _changed(self, instances: Sequence[t.Any], name: str, values: Record) -> bool:
        """Return ``True`` if one of some instances has another value of a field, or if
        the client may not know that.
        """
        return name in values and (
            name not in self.visible
            or any([getattr(each, name) != values[name] for each in instances])
        )

    def _refused(
        self, writing: Writing, call: ResolvedCall, instances: Sequence[t.Any]
    ) -> list[tuple[FieldCondition, list[t.Any]]]:
        """Return each condition and the instances that do not meet it."""
        if not self.conditions or not instances:
            return []

        selection = Selection((), conditions=self.conditions)
        identify = call.view.fields.mapper.primary_key_from_instance
        keys = [tuple(identify(instance)) for instance in instances]

        with writing.reading() as reading:
            rows = read_keyed(reading, call._replace(selection=selection), keys)

        return [
            (
                condition,
                [one for one, row in zip(instances, rows, strict=True) if not row[i]],
            )
            for i, condition in enumerate(self.conditions)
        ]


UNGUARDED: t.Final = Guards()
"""The guards of a body without such fields."""
