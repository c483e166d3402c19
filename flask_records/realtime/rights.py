"""The records of events that a user may see."""

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
    """Returns whether a user may see the record at an index."""

    Test: t.TypeAlias = Callable[[int], bool | None]
    """Returns whether the record at an index meets a condition. ``None`` if unknown."""

logger = logging.getLogger(__package__)


class Rights:
    """Applies the ``readable`` rule of a service to records. The rule is called once
    for each user. A record that cannot be checked is not shown.
    """

    def __init__(self, service: Service, records: Sequence[t.Any]) -> None:
        self._service = service
        self._records = records
        self._users: dict[t.Any, MaySee] = {}
        self._look_ups: dict[tuple[Test, int], bool] = {}
        matching = service.capabilities.matching
        self._test: Callable[[Record], Test] = (
            matching(records).test if matching else _unknown
        )

    def of(self, login: Params | None) -> MaySee:
        """Return the check of the records for a user, or for anonymous clients."""
        if self._service.readable is None:
            return _show

        key = (id(login.authenticator), login.user_id) if login else None

        if key not in self._users:
            self._users[key] = self._by_rule(login.user if login else None)

        return self._users[key]

    def _by_rule(self, user: t.Any) -> MaySee:
        try:
            condition = self._service.readable_by(user)

            if condition is None:
                return _show

            return partial(self._meets, condition, self._test(condition))
        except RecordsError:
            return _hide
        except Exception:
            logger.exception("The 'readable' rule of '%s' failed.", self._service.path)
            return _hide

    def _meets(self, condition: Record, test: Test, index: int) -> bool:
        try:
            result = test(index)
            return self._look_up(condition, test, index) if result is None else result
        except RecordsError:
            return False
        except Exception:
            logger.exception("The 'readable' rule of '%s' failed.", self._service.path)
            return False

    def _look_up(self, condition: Record, test: Test, index: int) -> bool:
        """Return whether the service finds a record with a condition."""
        key = (test, index)

        if key not in self._look_ups:
            # If the look-up raises, it is not repeated.
            self._look_ups[key] = False
            self._look_ups[key] = self._is_found(condition, self._records[index])

        return self._look_ups[key]

    def _is_found(self, condition: Record, record: t.Any) -> bool:
        name = self._service.capabilities.id

        if not isinstance(record, dict) or name not in record:
            return False

        try:
            self._service._get(record[name], Params(query=dict(condition)))
            return True
        except NotFound:
            return False


def _show(index: int) -> bool:
    return True


def _hide(index: int) -> bool:
    return False


def _unknown(condition: Record) -> Test:
    return lambda index: None
