"""The records that a user may see, and the fields in them."""

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

    from ..typing import Record
    from .service import Service

    MaySee: t.TypeAlias = Callable[[int], bool]
    """Returns whether a user may see the record, or a field of it, at an index."""

    Test: t.TypeAlias = Callable[[int], bool | None]
    """Returns whether the record at an index meets a condition. ``None`` if unknown."""

logger = logging.getLogger(__package__)

ALL: t.Final[frozenset[str]] = frozenset()


class Visibility(t.NamedTuple):
    """The part of some records that a user may see."""

    may_see: MaySee
    """Returns whether the user may see the record at an index."""

    fields: dict[str, MaySee]
    """Returns the same for each field that the user may not see in all records."""

    def hidden(self, index: int) -> frozenset[str]:
        """Return the fields that the user may not see in the record at an index."""
        if not self.fields:
            return ALL

        return frozenset(
            [n for n, may_see in self.fields.items() if not may_see(index)]
        )


class Rights:
    """Applies the rules of a service to records: ``readable``, and those for fields.
    Each rule is called once for each user. A record, or a field, that cannot be checked
    is not shown.
    """

    def __init__(self, service: Service, records: Sequence[t.Any]) -> None:
        self._service = service
        self._records = records
        self._users: dict[t.Any, Visibility] = {}
        self._look_ups: dict[tuple[Test, int], bool] = {}
        matching = service.capabilities.matching
        self._test: Callable[[Record], Test] = (
            matching(records).test if matching else _unknown
        )

    def of(self, login: Params | None) -> Visibility:
        """Return what a user may see of the records, or anonymous clients may."""
        if not self._service.has_rules:
            return EVERYTHING

        key = (id(login.authenticator), login.user_id) if login else None

        if key not in self._users:
            user = login.user if login else None
            self._users[key] = Visibility(
                self._by_rule("readable", lambda: self._service.readable_by(user)),
                self._fields(user),
            )

        return self._users[key]

    def hidden_from(self, user: t.Any, index: int) -> frozenset[str]:
        """Return the fields that a user may not see in the record at an index.

        :param user: The user, or ``None``.
        """
        return Visibility(_show, self._fields(user)).hidden(index)

    def _fields(self, user: t.Any) -> dict[str, MaySee]:
        rules = self._service.capabilities.field_rules

        try:
            permissions = self._service.permissions_of(user)
        except Exception:
            logger.exception("A 'visible' rule of '%s' failed.", self._service.path)
            return dict.fromkeys(rules.visible, _hide)

        fields: dict[str, MaySee] = dict.fromkeys(permissions.hidden, _hide)

        for name, condition in permissions.shown_if.items():
            fields[name] = self._by_rule("visible", partial(_same, condition))

        return fields

    def _by_rule(self, name: str, rule: Callable[[], Record | None]) -> MaySee:
        try:
            condition = rule()

            if condition is None:
                return _show

            return partial(self._meets, name, condition, self._test(condition))
        except RecordsError:
            return _hide
        except Exception:
            logger.exception("The '%s' rule of '%s' failed.", name, self._service.path)
            return _hide

    def _meets(self, name: str, condition: Record, test: Test, index: int) -> bool:
        try:
            result = test(index)
            return self._look_up(condition, test, index) if result is None else result
        except RecordsError:
            return False
        except Exception:
            logger.exception("The '%s' rule of '%s' failed.", name, self._service.path)
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


def _same(condition: Record) -> Record:
    return condition


def _unknown(condition: Record) -> Test:
    return lambda index: None


EVERYTHING: t.Final = Visibility(_show, {})
"""The visibility for a user if there are no rules."""
