"""The writers of calls: a single statement where it is eligible, or a unit of work."""

from __future__ import annotations

import logging
import typing as t
from functools import cached_property

from .eligibility import Eligibility, Reason
from .guards import UNGUARDED
from .single_statement import SingleStatement
from .unit_of_work import UnitOfWork

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import Record
    from .calls import ResolvedCall
    from .multi import Multi
    from .served_model import ServedModel
    from .view import View
    from .writing import Writing

logger = logging.getLogger(__package__)

MAX_VIEWS: t.Final = 256
"""The number of views whose writers are remembered."""


class Writers:
    """The writers of a model.

    :param model: The model.
    :param multi: The methods that take many records.
    """

    def __init__(self, model: ServedModel, multi: Multi) -> None:
        self._model = model
        self._multi = multi
        self._writers: dict[View, tuple[SingleStatement, UnitOfWork]] = {}

    @cached_property
    def _eligibility(self) -> Eligibility:
        model = self._model
        return Eligibility(model.application.fields, model.writable.keys())

    def choose(
        self,
        verb: str,
        writing: Writing,
        call: ResolvedCall,
        bodies: Sequence[Record] = (),
        *,
        is_many: bool = False,
    ) -> SingleStatement | UnitOfWork:
        """Return the writer of a call.

        :param verb: ``insert``, ``update`` or ``delete``.
        :param bodies: The values to write.
        :param is_many: ``True`` if the call writes all records of its query.
        """
        reason = (
            self._eligibility.reason(verb, writing, call.query, bodies, is_many=is_many)
            if call.guards is UNGUARDED
            else Reason.GUARDS
        )
        writers = self._writers.get(call.view)

        if writers is None:
            if len(self._writers) >= MAX_VIEWS:
                self._writers.clear()

            writers = self._writers[call.view] = (
                SingleStatement(call.view),
                UnitOfWork(call.view, self._multi),
            )

        if logger.isEnabledFor(logging.DEBUG):
            way = "one statement" if reason is None else f"unit of work: {reason.value}"
            name = self._model.mapped_class.__name__
            logger.debug("%s: %s by %s.", name, verb, way)

        single_statement, unit_of_work = writers
        return single_statement if reason is None else unit_of_work
