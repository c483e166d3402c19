"""Users, looked up through the service that has them."""

from __future__ import annotations

import typing as t
from weakref import WeakKeyDictionary

from flask import current_app

from ..context import HookContext, Params
from ..errors import BadRequest, NotAuthenticated, NotFound, RecordsError
from ..globals import current_records
from ..pagination import without
from ..service.hidden_names import HiddenName
from ..service.rights import Rights

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from ..query import Fields
    from ..service import Service
    from ..typing import Id, Record

MAX_SIMILAR: t.Final = 100
"""The number of users whose names a database may take for the same."""

GONE: t.Final = "The user of the token is gone."


class Users:
    """The users of an authentication service."""

    def __init__(
        self,
        path: str,
        username: str,
        password: str,
        normalize: Callable[[str], str] | None,
    ) -> None:
        self.path = path
        """The path of the service that has them."""
        self.password = password
        """The field with the password hash."""
        self._username = username
        self._normalize = normalize
        self._services: WeakKeyDictionary[Service, bool] = WeakKeyDictionary()

    @property
    def service(self) -> Service:
        """The service that has the users.

        :raises RuntimeError: There is none.
        """
        try:
            return current_records.services[self.path]
        except KeyError:
            raise self.missing() from None

    def missing(self) -> RuntimeError:
        """Return the error where there is no service that has the users."""
        return RuntimeError(
            f"There is no service '{self.path}' with the users. Add it, or name another"
            " one: AuthenticationService(users=...)."
        )

    @property
    def id(self) -> str:
        """The name of the identifier field of users."""
        return self.service.capabilities.id

    def has(self, service: Service) -> bool:
        """Return whether a service has the users, or is over the same model."""
        has_users = self._services.get(service)

        if has_users is not None:
            return has_users

        users = current_records.services.get(self.path)

        if users is None:
            return False

        has_users = service is users or share_model(service, users)
        self._services[service] = has_users
        return has_users

    def canonical_id(self, id: Id) -> Id:
        """Return the identifier as in the user's record, or unchanged without one."""
        try:
            user: t.Any = self.service._get(id)
        except RecordsError:
            return id

        return user.get(self.id, id) if isinstance(user, dict) else id

    def find(self, username: str) -> Record | None:
        """Return the record of the user with a name, if there is one. Names are the
        same if ``normalize`` makes the same of them.
        """
        username = self.normalized(username)

        if not username:
            return None

        return self.find_by(self._username, username, self.normalized)

    def normalized(self, username: str) -> str:
        """Return a name in the form that logins look up."""
        return self._normalize(username) if self._normalize else username

    def find_by(
        self, field: str, value: str, normalize: Callable[[str], str] = str
    ) -> Record | None:
        """Return the record of the user with a value, if there is one.

        :param normalize: Returns the form of a stored text that is compared. The text
            itself by default.
        """
        # The query of a client has no part in this.
        query = {field: value, "$limit": MAX_SIMILAR}
        records = self.service._find(Params(query=query, paginate=False))

        # A database may find text in another case, with accents or with spaces.
        for record in t.cast("list[Record]", records):
            stored = record.get(field)

            if not isinstance(stored, str) or normalize(stored) == value:
                return record

        return None

    def load(self, id: Id) -> tuple[Record, Record]:
        """Return a user as clients see it, and as hooks see it. The service is called
        with its hooks, as from Python; a hook that raises refuses the user.

        :raises NotAuthenticated: There is no such user.
        """
        users = self.service
        context = HookContext(users, "get", Params(), id)

        try:
            user = users.visible(users.call(context).sent)
        except (BadRequest, NotFound) as error:
            raise NotAuthenticated(GONE) from error

        if not isinstance(user, dict):
            raise NotAuthenticated(GONE)

        stored = context.result if isinstance(context.result, dict) else {}
        user = t.cast("Record", without(user, {self.password}))
        return self._as_seen_by_itself(user, stored), stored

    def _as_seen_by_itself(self, user: Record, stored: Record) -> Record:
        """Return a user with all fields for rules and hooks, of which clients get those
        that the user may see.
        """
        if not self.service.capabilities.field_rules.visible:
            return user

        hidden = Rights(self.service, [stored]).hidden_from(user, 0)
        return {
            HiddenName(name) if name in hidden else str(name): value
            for name, value in user.items()
        }

    def for_events(self, user: t.Any) -> t.Any:
        """Return a user as receivers of events get it, who see less than the user."""
        users = current_records.services.get(self.path)
        return user if users is None else users.event_parts.for_events(user)

    def credentials(self, id: Id) -> Record:
        """Return a record with the stored hash of a user, without hooks, or an empty
        one if the service does not return hashes.

        :raises NotAuthenticated: There is no such user.
        """
        users, fields = self.service, fields_of(self.service)
        has_password = fields is None or self.password in fields.names

        if not has_password or "get" not in users.methods:
            return {}

        query = {} if fields is None else {"$select": [self.password]}

        try:
            user: t.Any = users._get(id, Params(query=query))
        except (BadRequest, NotFound) as error:
            raise NotAuthenticated(GONE) from error

        return user if isinstance(user, dict) else {}

    def replace_hash(self, user: Record, hash: str) -> str:
        """Replace the password hash of a user. Return the hash that is stored then."""
        before = t.cast("str", user[self.password])
        # The password may have changed since.
        unchanged = Params(query={self.password: before})

        try:
            self.service._patch(user[self.id], {self.password: hash}, unchanged)
        except RecordsError as error:
            current_app.logger.warning("A hash was not upgraded: %s", error.name)
            return before

        return hash


def fields_of(service: Service) -> Fields | None:
    """Return the fields of a service, or ``None`` if they are not known."""
    fields_for = service.capabilities.fields_for
    return fields_for(Params()) if fields_for else None


def share_model(one: Service, other: Service) -> bool:
    """Return whether two services share a model, or one inherits from the other."""
    fields, others = fields_of(one), fields_of(other)

    if fields is None or others is None:
        return False

    return fields.mapper.isa(others.mapper) or others.mapper.isa(fields.mapper)
