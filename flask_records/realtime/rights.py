"""Which records of events a user may see."""

from __future__ import annotations

import logging
import typing as t
from functools import partial

from ..context import Params
from ..errors import NotFound
from ..errors import RecordsError

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    from ..service import Service
    from ..typing import Record

    MaySee: t.TypeAlias = Callable[[int], bool]
    """Tells whether a user may see the record of an index."""

    Test: t.TypeAlias = Callable[[int], bool | None]
    """Tells whether the record of an index meets a condition, or ``None``."""

logger = logging.getLogger(__package__)


class Rights:
    """Decides by the ``readable`` rule of a service who may see some records. The rule
    is asked once for each user. What can't be told may not be seen.

    :param service: The service.
    :param records: The records as they are stored, as far as that is known.
    """

    def __init__(self, service: Service, records: Sequence[t.Any]) -> None:
        self._service = service
        self._records = records
        self._users: dict[t.Any, MaySee] = {}
        self._stored: dict[tuple[Test, int], bool] = {}
        matching = getattr(service.target, "matching", None)
        self._test: Callable[[Record], Test] = (
            matching(records).test if matching else _unknown
        )

    def of(self, login: Params | None) -> MaySee:
        """Return a function of the index of a record that tells whether a user may see
        it.

        :param login: The login of the user, or ``None`` for nobody.
        """
        if self._service.readable is None:
            return _everything

        key = (id(login.authenticator), login.user_id) if login else None
        may_see = self._users.get(key)

        if may_see is None:
            may_see = self._users[key] = self._by_rule(login.user if login else None)

        return may_see

    def _by_rule(self, user: t.Any) -> MaySee:
        try:
            condition = self._service.readable_by(user)

            if condition is None:
                return _everything

            return partial(self._meets, condition, self._test(condition))
        except RecordsError:
            return _nothing
        except Exception:
            logger.exception("Nobody gets an event of '%s'.", self._service.path)
            return _nothing

    def _meets(self, condition: Record, test: Test, index: int) -> bool:
        try:
            found = test(index)
            return self._is_found(condition, test, index) if found is None else found
        except RecordsError:
            return False
        except Exception:
            logger.exception("Nobody gets an event of '%s'.", self._service.path)
            return False

    def _is_found(self, condition: Record, test: Test, index: int) -> bool:
        """Ask the service itself whether a record meets a condition."""
        key = (test, index)

        if key not in self._stored:
            # It is not asked again if it raises.
            self._stored[key] = False
            self._stored[key] = self._find(condition, self._records[index])

        return self._stored[key]

    def _find(self, condition: Record, record: t.Any) -> bool:
        name = getattr(self._service.target, "id", "id")

        if not isinstance(record, dict) or name not in record:
            return False

        try:
            self._service._get(record[name], Params(query=dict(condition)))
        except NotFound:
            return False

        return True


def _everything(index: int) -> bool:
    return True


def _nothing(index: int) -> bool:
    return False


def _unknown(condition: Record) -> Test:
    return lambda index: None
