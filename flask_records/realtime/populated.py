"""Relationships in the records of events, as each receiver may see them."""

from __future__ import annotations

import logging
import typing as t
from collections import defaultdict
from dataclasses import replace
from functools import cached_property

from ..context import Params
from ..http.formatter import dumps
from ..query.matching import key_of_query

if t.TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from ..extension import FlaskRecords
    from ..query.field_rules import Permissions
    from ..service import Service
    from ..service.rights import Rights
    from ..typing import Record

logger = logging.getLogger(__package__)

PROVIDER: t.Final = "socketio"
"""The transport of receivers."""

NO_RELATIONS: t.Final = "{}"
"""The relationships of an event that has none."""


class Populated:
    """Looks up the relationships of events. A user gets what a call of ``find`` shows:
    rules and hooks of the services that show related records apply. Users for whom the
    rules say the same share a look-up, if there are no hooks.

    :param rights: The rights to the records of the events.
    """

    def __init__(
        self,
        records: FlaskRecords,
        service: Service,
        messages: Sequence[Record],
        rights: Rights,
    ) -> None:
        self._extension = records
        self._rights = rights
        self._service = service
        self._texts: dict[Hashable, Mapping[int, str]] = {}
        self._keys: dict[Hashable, Hashable] = {}
        self._indices: dict[tuple[str, ...], list[int]] = defaultdict(list)
        self._records = [message["record"] for message in messages]

        for index, message in enumerate(messages):
            if "populate" in message and isinstance(message["record"], dict):
                self._indices[tuple(message["populate"])].append(index)

    def __bool__(self) -> bool:
        return bool(self._indices)

    def of(self, login: Params | None, index: int) -> str:
        """Return the relationships of the record at an index that a user may see, or
        anonymous clients may, as a JSON object.
        """
        if not self._indices:
            return NO_RELATIONS

        key = self.key(login)

        if key not in self._texts:
            self._texts[key] = self._look_up(login or Params())

        return self._texts[key].get(index, NO_RELATIONS)

    @cached_property
    def _services(self) -> Sequence[Service] | None:
        """The services that show related records, if rules alone decide what a user
        sees of them, and not hooks or methods of the application.
        """
        names = list(dict.fromkeys(name for each in self._indices for name in each))
        services = self._service.capabilities.services_of(names)
        return services if all(each.finds_by_rules for each in services) else None

    def key(self, login: Params | None) -> Hashable:
        """Return a key that users have in common who see the same relationships."""
        if not self._indices:
            return None

        user_key = None if login is None else _key_of_user(login)

        if self._services is None:
            return user_key

        if not self._has_rules:
            return tuple([self._may_find(each, login) for each in self._services])

        if user_key not in self._keys:
            self._keys[user_key] = self._key_of_rights(login, user_key)

        return self._keys[user_key]

    @cached_property
    def _has_rules(self) -> bool:
        services = (self._service, *(self._services or ()))
        return any(each.has_rules for each in services)

    def _key_of_rights(self, login: Params | None, user_key: Hashable) -> Hashable:
        user = login.user if login else None

        try:
            # The key of a relationship may be a field that not every user sees.
            own = _key_of_permissions(self._rights.permissions_of(login))
            return own, tuple(
                [
                    (
                        self._may_find(each, login),
                        key_of_query(each.readable_by(user) or {}),
                        _key_of_permissions(each.permissions_of(user)),
                    )
                    for each in self._services or ()
                ]
            )
        except Exception:
            # The look-up of this user fails for the same reason.
            return user_key

    def _may_find(self, service: Service, login: Params | None) -> bool:
        is_accepted = login is not None and self._extension.accepts(service, login)
        return is_accepted or "find" in service.public

    def _look_up(self, login: Params) -> Mapping[int, str]:
        params = replace(login, query={}, route={}, extra={}, provider=PROVIDER)
        relations_of = self._service.capabilities.relations_of
        texts: dict[int, str] = {}

        if relations_of is None:
            return texts

        for names, indices in self._indices.items():
            try:
                records = [self._records[index] for index in indices]
                relations = relations_of(records, names, params)
                texts |= zip(indices, map(_text, relations), strict=True)
            except Exception:
                # The call is committed, and the record itself can be sent.
                path = self._service.path
                logger.exception("Relationships of '%s' could not be sent.", path)

        return texts


def _key_of_user(login: Params) -> Hashable:
    if login.user_id is None:
        return id(login)

    return id(login.authenticator), login.user_id


def _key_of_permissions(permissions: Permissions) -> Hashable:
    shown_if = [
        (name, key_of_query(query)) for name, query in permissions.shown_if.items()
    ]
    return permissions.hidden, tuple(shown_if)


def _text(relations: Record) -> str:
    return dumps(relations).decode()
