"""The service that confirms addresses, and changes passwords and addresses."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from ..authentication.limits import count_account
from ..authentication.passwords import text_of
from ..authentication.records import current_records
from ..authentication.users import fields_of, is_address
from ..errors import BadRequest, Conflict, Forbidden, NotAuthenticated
from ..problems import NO_ADDRESS, Problem, TOO_LONG
from ..service import Capabilities
from ..service.context import Params
from ..service.globals import current_call
from ..service.schemas import OBJECT, object_of, Schemas
from .mailed_tokens import (
    invalid_token,
    MailedTokens,
    RESET,
    send_later,
    VERIFY,
)

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from flask import Flask

    from ..authentication import AuthenticationService
    from ..service import Service
    from ..service.context import HookContext
    from ..service.schemas import Schema
    from ..typing import Id, Record
    from .mailed_tokens import Mail

    Action: t.TypeAlias = Callable[[Record, Params], None]

MAX_ADDRESS: t.Final = 320
"""The number of characters of the longest address."""

TEXT: t.Final[Schema] = {"type": "string"}

NO_FIELD: t.Final = """\
'{path}' has no field '{field}' that says whether the address of a user is confirmed. \
Add a column, name another field, AccountManagement(verified=...), or none, \
verified=None.\
"""

WRITABLE: t.Final = """\
Clients of '{path}' can write '{field}', which only a confirmed address sets. Write \
SQLAlchemyService({model}, readonly=["{field}"]).\
"""

CHANGEABLE: t.Final = """\
Clients of '{path}' can change '{field}' without a confirmation, which \
'identityChange' asks for. Write SQLAlchemyService({model}, write_once=["{field}"]).\
"""


class AccountManagement(Capabilities):
    """Confirms the addresses of users, and changes their passwords and addresses, by
    the actions of ``feathers-authentication-management``. Add it as
    ``authManagement``, with ``public=["create"]``. The address of a user is the field
    of their logins.

    No answer reveals whether there is an account, but for the action ``checkUnique``.

    :param authentication: The service that logs the users in. Its store has the tokens.
    :param send: Sends a :class:`.Mail`, in the background, after the commit.
    :param verified: The field of a user that is ``True`` for a confirmed address, or
        ``None`` without one.
    :raises ValueError: The authentication service has no store of tokens.
    """

    sends_events = False
    limits = MappingProxyType(
        {"create": "20 per minute; 200 per hour", "account": "5 per hour"}
    )

    def __init__(
        self,
        authentication: AuthenticationService,
        *,
        send: Callable[[Mail], t.Any],
        verified: str | None = "isVerified",
    ) -> None:
        if authentication.token_store is None:
            raise ValueError(
                "AccountManagement needs a store of tokens:"
                " AuthenticationService(tokens=TableTokens(Token))."
            )

        self._authentication = authentication
        self._users = authentication.lookup
        self._field = authentication.username
        self._password = authentication.password
        self._tokens = MailedTokens(authentication, authentication.token_store, send)
        self._verified = authentication.verified = verified
        field, password = self._field, self._password
        user = object_of({field: TEXT}, required=[field])
        token = object_of({"token": TEXT, password: TEXT}, required=["token", password])
        own_password = object_of(
            {"oldPassword": TEXT, password: TEXT, "user": user},
            required=["oldPassword", password],
        )
        own_address = object_of(
            {password: TEXT, "changes": user, "user": user},
            required=[password, "changes"],
        )
        self._actions: Mapping[str, tuple[Action, Schema]] = {
            "checkUnique": (self._check_unique, user),
            "resendVerifySignup": (partial(self._send, VERIFY), user),
            "verifySignupLong": (self._verify, TEXT),
            "verifySignupSetPasswordLong": (partial(self._set_password, VERIFY), token),
            "sendResetPwd": (partial(self._send, RESET), user),
            "resetPwdLong": (partial(self._set_password, RESET), token),
            "passwordChange": (self._change_password, own_password),
            "identityChange": (self._change_address, own_address),
        }
        """The function of each action, and the schema of its value."""

    def check(self, app: Flask, methods: Collection[str]) -> None:
        """Check that clients can't confirm an address, or change it, themselves.

        :raises RuntimeError: They can. The message has the cure.
        """
        for service in self._users.services.values():
            if self._users.has(service):
                service.before("create", "update", "patch")(self._check_bodies)

                if self._verified is not None:
                    self._check_writes(service, self._verified)

    def _check_bodies(self, method: str, context: HookContext) -> None:
        """Refuse addresses of clients that are not addresses: a hook of users."""
        for body in context.bodies if context.params.provider is not None else ():
            address = body.get(self._field)

            if isinstance(address, str) and not is_address(address):
                raise self._problem(NO_ADDRESS)

    def _check_writes(self, users: Service, verified: str) -> None:
        clients = users.capabilities.scope_for(None)

        if clients is None:
            return

        fields = clients.fields
        options = {"path": users.path, "model": fields.model.__name__}

        if verified not in fields.names:
            raise RuntimeError(NO_FIELD.format(field=verified, **options))

        if verified in clients.writable:
            raise RuntimeError(WRITABLE.format(field=verified, **options))

        is_changed = not {"update", "patch"}.isdisjoint(users.methods)
        is_open = self._field in clients.writable - {*fields.options.write_once}

        if is_changed and is_open:
            raise RuntimeError(CHANGEABLE.format(field=self._field, **options))

    def create(self, data: t.Any, params: Params) -> Record:
        """Run an action, and return an empty answer.

        :param data: The name of the action, and its ``value``.
        :raises BadRequest: There is no such action, or its value or token is not
            valid.
        :raises NotAuthenticated: The action needs a login.
        """
        name = data.get("action") if isinstance(data, dict) else None

        if not isinstance(name, str) or name not in self._actions:
            raise BadRequest(f"The actions are: {', '.join(self._actions)}.")

        action, _ = self._actions[name]
        action(data, params)
        return {}

    def send_verification(
        self, event: str, record: Record, context: HookContext | None
    ) -> None:
        """Send the mail that confirms the address of a new user: a receiver of the
        event ``created`` of the users.
        """
        send_later(partial(self._mail_to_user, record[self._users.id]))

    def schemas_for(self, params: Params | None) -> Schemas:
        """Return the JSON Schemas of what a caller sends and gets."""
        actions = [
            object_of(
                {"action": {**TEXT, "const": name}, "value": value},
                required=["action", "value"],
                title=name,
            )
            for name, (_, value) in self._actions.items()
        ]
        return Schemas(
            record=OBJECT,
            create={"anyOf": actions},
            many=OBJECT,
            summaries={"create": "Confirm or change an account"},
        )

    def _check_unique(self, data: Record, params: Params) -> None:
        user = self._users.find(self._address_in(data.get("value")))
        own_id = params.user_id if self._is_caller(params) else None

        # Guesses of other identifiers would reveal which one has the address.
        if str(data.get("ownId")) != str(own_id):
            own_id = None

        if user is not None and user[self._users.id] != own_id:
            problem = Problem("Already taken.", "taken")
            raise BadRequest("Values already taken.", errors={self._field: problem})

    def _send(self, kind: str, data: Record, params: Params) -> None:
        address = self._address_in(data.get("value"))
        # Count the attempt also without an account.
        count_account(current_call.path, address)
        send_later(partial(self._mail, kind, address))

    def _verify(self, data: Record, params: Params) -> None:
        record, user = self._tokens.take(VERIFY, data.get("value"))
        is_new = record["address"] != user[self._field]
        changes = {self._field: record["address"]} if is_new else {}

        try:
            self._prove(user, changes, params)
        except Conflict as error:
            # Somebody else has registered with the address since.
            raise invalid_token() from error

        if is_new:
            send_later(partial(self._tokens.notify, user))

    def _set_password(self, kind: str, data: Record, params: Params) -> None:
        """Set the password of a user by a token that was sent to the address."""
        value = _mapping(data.get("value"))
        record, user = self._tokens.take(kind, value.get("token"))

        # A token for a new address confirms that address, and nothing else.
        if record["address"] != user[self._field]:
            raise invalid_token()

        self._prove(user, {self._password: self._new_password(value)}, params)

        if kind == RESET:
            send_later(partial(self._tokens.notify, user))

    def _prove(self, user: Record, changes: Record, params: Params) -> None:
        """Write the changes of a caller who has proven to own an address. If nobody has
        before, a stranger may have made the user: logins at providers and sessions end,
        but for a caller who is logged in as the user.
        """
        id = user[self._users.id]
        is_proven = self._verified is not None and user.get(self._verified)
        is_known = is_proven and self._field not in changes
        is_kept = is_known or (self._is_caller(params) and params.user_id == id)
        services = current_records.authentications.values() if not is_kept else ()
        # All authentication services of the users.
        ending = [s for s in services if s.lookup.is_there and self._users.has(s.users)]

        if self._verified is not None:
            changes[self._verified] = True

        for service in ending:
            providers = service.settings.oauth.providers.values()
            changes |= dict.fromkeys(provider.id_field for provider in providers)

        self._users.service.patch(id, changes)

        for service in ending:
            if service.token_store is not None:
                service.revoke_user(id)

    def _change_password(self, data: Record, params: Params) -> None:
        value = _mapping(data.get("value"))
        user = self._caller(value, "oldPassword", params)
        password = self._new_password(value)
        self._users.service.patch(user[self._users.id], {self._password: password})
        send_later(partial(self._tokens.notify, user))

    def _change_address(self, data: Record, params: Params) -> None:
        value = _mapping(data.get("value"))
        user = self._caller(value, self._password, params)
        address = self._address_in(value.get("changes"))
        self._check_address(address)
        # Count the attempt also without an account.
        count_account(current_call.path, address)
        send_later(partial(self._mail_change, user[self._users.id], address))

    def _is_caller(self, params: Params) -> bool:
        is_own = params.authenticator is self._authentication
        return is_own and params.user_id is not None

    def _caller(self, value: Record, field: str, params: Params) -> Record:
        """Return the record of the caller, whose password is in a field of a value."""
        if not self._is_caller(params):
            raise NotAuthenticated("Not authenticated")

        user = self._users.service._get(params.user_id)
        identity = value.get("user")

        if identity is not None and self._address_in(identity) != user[self._field]:
            raise Forbidden("This is not the user who is logged in.")

        with self._authentication.attempt(user[self._field] or ""):
            password = text_of(value.get(field), field)
            hash = user.get(self._password)

            if not self._authentication.verify_password(password, hash):
                problem = Problem("Current password is incorrect.", "wrong")
                raise BadRequest(str(problem), errors={field: problem})

        return user

    def _mail(self, kind: str, address: str) -> None:
        """Send a mail with a token to a user, if there is one with the address."""
        user = self._users.find(address)

        if user is not None and not (kind == VERIFY and self._is_verified(user)):
            self._tokens.issue(kind, kind, user, user[self._field])

    def _mail_to_user(self, id: Id) -> None:
        user = self._users.service._get(id)

        if user.get(self._field) and not self._is_verified(user):
            self._tokens.issue(VERIFY, VERIFY, user, user[self._field])

    def _mail_change(self, id: Id, address: str) -> None:
        if self._users.find(address) is None:
            user = self._users.service._get(id)
            self._tokens.issue(VERIFY, "change", user, address)

    def _is_verified(self, user: Record) -> bool:
        return self._verified is None or bool(user.get(self._verified))

    def _address_in(self, value: t.Any) -> str:
        """Return the address that a value names, in the form that is stored."""
        text = text_of(_mapping(value).get(self._field), self._field)
        address = self._users.normalize(text)

        if len(address) > MAX_ADDRESS:
            raise self._problem(TOO_LONG)

        return address

    def _check_address(self, address: str) -> None:
        """Check a new address, also by the schemas of the users."""
        users, fields = self._users.service, fields_of(self._users.service)
        problems = [] if is_address(address) else [NO_ADDRESS]

        for method in ("create", "patch"):
            schema = users.schemas[method].data if method in users.schemas else None

            if schema is not None and self._field in schema.names:
                errors = schema.check({self._field: address}, is_partial=True)[2]
                problems += filter(None, [errors.get(self._field)])

        try:
            if fields is not None:
                fields.stored[self._field].conversion.read(address)
        except ValueError as error:
            problems.append(Problem.of(error))

        if problems:
            raise self._problem(problems[0])

    def _problem(self, problem: Problem) -> BadRequest:
        field = self._field
        return BadRequest(f"'{field}' {problem}.", errors={field: problem})

    def _new_password(self, value: Record) -> str:
        passwords = self._authentication.settings.passwords
        return passwords.check(value.get(self._password), self._password)


def _mapping(value: t.Any) -> Record:
    if not isinstance(value, dict):
        raise BadRequest("'value' is not an object.")

    return value
