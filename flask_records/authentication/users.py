"""Users, looked up through the service that has them."""

from __future__ import annotations

import re
import typing as t

from ..errors import BadRequest, NotAuthenticated, NotFound
from ..query.operators import LIMIT, SELECT
from ..service.context import HookContext, Params
from ..service.results import find_unseen, PrivateRecord, without

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..database.database import CheckedValue
    from ..query import Fields
    from ..service import Service
    from ..typing import Id, Record

MAX_SIMILAR: t.Final = 100
"""The number of users whose names a database may take for the same."""

ADDRESS_PART: t.Final = r"""[^\s@,;:<>()\[\]"\\]"""
"""A character that does not separate addresses in a mail, or quote parts of them."""

ADDRESS: t.Final = re.compile(f"{ADDRESS_PART}+@{ADDRESS_PART}+")

GONE: t.Final = "The user of the token is gone."


def is_address(text: str) -> bool:
    """Return whether a text is one address for mails, and nothing else."""
    return bool(ADDRESS.fullmatch(text)) and text.isprintable()


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
        self.services: Mapping[str, Service] = {}
        """The services of the extension, by path."""
        self._username = username
        self._normalize = normalize

    @property
    def service(self) -> Service:
        """The service that has the users.

        :raises RuntimeError: No users service exists.
        """
        try:
            return self.services[self.path]
        except KeyError:
            raise RuntimeError(
                f"There is no service '{self.path}' with the users. Add it, or name"
                " another one: AuthenticationService(users=...)."
            ) from None

    @property
    def id(self) -> str:
        """The name of the identifier field of users."""
        return self.service.capabilities.id if self.is_there else "id"

    @property
    def is_there(self) -> bool:
        """``True`` if there is a service that has the users. Strategies of the
        application may have users of their own.
        """
        return self.path in self.services

    def has(self, service: Service) -> bool:
        """Return whether a service has the users, or is over the same model."""
        users = self.services.get(self.path)
        return users is not None and (service is users or _share_model(service, users))

    def find(self, username: str) -> Record | None:
        """Return the record of the user with a name, if there is one. Names are the
        same if ``normalize`` makes the same of them.
        """
        username = self.normalize(username)

        if not username:
            return None

        return self.find_by(self._username, username, self.normalize)

    def normalize(self, username: str) -> str:
        """Return a name in the form that logins look up."""
        return self._normalize(username) if self._normalize else username

    def normalize_writes(self) -> None:
        """Let the services with the users store names in the form that logins look up,
        after all other hooks.
        """
        if self._normalize is None:
            return

        for service in self.services.values():
            if self.has(service):
                service.before("create", "update", "patch")(self._normalize_bodies)

    def _normalize_bodies(self, method: str, context: HookContext) -> None:
        for body in context.bodies:
            if isinstance(username := body.get(self._username), str):
                body[self._username] = self.normalize(username)

    def find_by(
        self,
        field: str,
        value: str,
        normalize: Callable[[str], str] = str,
        *,
        lock: bool = False,
    ) -> Record | None:
        """Return the record of the user with a value, if there is one.

        :param normalize: Returns the form of a stored text that is compared. The text
            itself by default.
        :param lock: Let nobody else write the user until the commit.
        """
        # The query of a client has no part in this.
        query = {field: value, LIMIT: MAX_SIMILAR}
        records = self.service._find(Params(query=query, paginate=False, lock=lock))

        # A database may find text in another case, with accents or with spaces, and a
        # number by many texts, each of which would count as an account of its own.
        for record in t.cast("list[Record]", records):
            if normalize(str(record.get(field))) == value:
                return record

        return None

    def lock(self, id: Id) -> Record:
        """Return the record of a user that nobody else writes until the commit.

        :raises NotAuthenticated: There is no such user.
        """
        try:
            user: Record = self.service._get(id, Params(lock=True))
        except (BadRequest, NotFound) as error:
            raise NotAuthenticated(GONE) from error

        return user

    def load(
        self, id: Id, checked: CheckedValue | None = None
    ) -> tuple[Record, Record]:
        """Return a user as clients see it, and as hooks see it. The service is called
        with its hooks, as from Python; a hook that raises refuses the user.

        :param checked: A value to read together with the user.
        :raises NotAuthenticated: There is no such user.
        """
        users, params = self.service, Params()
        params._state.checked_value = checked
        context = HookContext(users, "get", params, id)

        try:
            answer = users.call(context).sent
        except (BadRequest, NotFound) as error:
            raise NotAuthenticated(GONE) from error

        if not isinstance(answer, dict):
            raise NotAuthenticated(GONE)

        user = without(answer, users.capabilities.hidden | {self.password})
        record = context.result if isinstance(context.result, dict) else {}

        # Rules and hooks get all fields, and clients those that the user may see.
        if users.capabilities.field_rules.visible:
            hidden = frozenset(find_unseen(user, users, record))
            user = PrivateRecord(user, users, hidden)

        return user, record

    def credentials(self, id: Id) -> Record:
        """Return a record with the stored hash of a user, without hooks, or an empty
        one if the service does not return hashes.

        :raises NotAuthenticated: There is no such user.
        """
        users, fields = self.service, fields_of(self.service)
        has_password = fields is None or self.password in fields.names

        if not has_password or "get" not in users.methods:
            return {}

        query = {} if fields is None else {SELECT: [self.password]}

        try:
            user: t.Any = users._get(id, Params(query=query))
        except (BadRequest, NotFound) as error:
            raise NotAuthenticated(GONE) from error

        return user if isinstance(user, dict) else {}


def fields_of(service: Service) -> Fields | None:
    """Return the fields of a service, or ``None`` if they are not known."""
    scope = service.capabilities.scope_for(Params())
    return None if scope is None else scope.fields


def _share_model(one: Service, other: Service) -> bool:
    """Return whether two services share a model, or one inherits from the other."""
    fields, others = fields_of(one), fields_of(other)

    if fields is None or others is None:
        return False

    return fields.mapper.isa(others.mapper) or others.mapper.isa(fields.mapper)
