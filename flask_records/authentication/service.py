"""The service that issues tokens."""

from __future__ import annotations

import time
import typing as t
import unicodedata
from contextlib import contextmanager
from contextvars import ContextVar

from flask import current_app

from ..context import HookContext
from ..context import Params
from ..errors import NotAuthenticated
from ..globals import current_records
from ..pagination import without
from ..signals import call
from .oauth_strategy import LOGIN
from .oauth_strategy import OAUTH
from .oauth_strategy import OAuthStrategy
from .revocation import Revocations
from .settings import Settings
from .strategies import JWT
from .strategies import LOCAL
from .token_ids import create_token_id
from .token_ids import is_token_id_of
from .user_changes import UserChanges
from .users import fields_of
from .users import Users

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from collections.abc import Mapping

    from flask import Flask
    from werkzeug.datastructures import Headers

    from ..query import Fields
    from ..service import Service
    from ..typing import Id
    from ..typing import Record
    from .revocation import RevocationStore
    from .strategies import Strategy

EVENTS: t.Final = {"create": "login", "remove": "logout"}
"""The event that each method sends."""

EXTENSION: t.Final = "records_authentication"
"""Where an application keeps the settings of its authentication services."""

TOKEN: t.Final = frozenset({"accessToken"})
"""What no event of a login has."""

NO_STORE: t.Final = """\
Tokens can't be revoked without a place to keep that. Give the authentication service \
one: AuthenticationService(revocations=TableRevocations(RevokedToken)).\
"""

_verified: ContextVar[dict[str, str | None] | None] = ContextVar(
    "records_verified", default=None
)
"""The password hashes that the login in progress has verified, by users."""

NO_ID_FIELD: t.Final = """\
{setting}['oauth'][{provider!r}] needs a field '{field}' of '{users}': text that is \
unique and can be null.\
"""


class AuthenticationService:
    """Issues access tokens to users, and says who a token, or what else a client sends,
    belongs to. Add it as ``authentication``: see section 5 of the specification.

    The first one that is added is what services ask by default.

    :param users: The path of the service that has the users.
    :param username: The field of a user that he logs in with.
    :param password: The field that has the hash of his password.
    :param normalize: Makes the user name of what was typed, for example
        :meth:`str.lower` where names are kept so. Taken as it is by default.
    :param strategies: Ways to authenticate besides ``local`` and ``jwt``, by name. They
        replace those of the same name.
    :param revocations: Where revoked tokens are kept. Without it a token is valid until
        it expires, the password changes, or the user is removed.
    :param custom_hashing: The application hashes passwords by itself, in the model or
        in hooks of its own: the hook :func:`.hash_password` is not required, and logins
        leave older hashes as they are.
    :param settings: The name of the application's setting for this service.
    """

    events = tuple(EVENTS.values())
    sends_events = False

    def __init__(
        self,
        users: str = "users",
        *,
        username: str = "email",
        password: str = "password",
        normalize: Callable[[str], str] | None = None,
        strategies: Mapping[str, Strategy | OAuthStrategy] | None = None,
        revocations: RevocationStore | None = None,
        custom_hashing: bool = False,
        settings: str = "RECORDS_AUTHENTICATION",
    ) -> None:
        self.username = username
        """The field of a user that he logs in with."""
        self.password = password
        """The field that has the hash of his password."""
        self.strategies: dict[str, Strategy | OAuthStrategy] = {
            "jwt": JWT,
            "local": LOCAL,
            **(strategies or {}),
        }
        """The ways to authenticate, by name."""
        self.revocations = (
            Revocations(revocations, users.strip("/")) if revocations else None
        )
        """Where tokens that are not valid any more are kept, if they are."""
        self.users_path = users.strip("/")
        """The path of the service that has the users."""
        self.lookup = Users(self.users_path, username, password, normalize)
        """Looks users up."""
        self.user_changes = (
            UserChanges(self, self.revocations) if self.revocations else None
        )
        """Revokes the tokens of users that change, if there are revocations."""
        self.custom_hashing = custom_hashing
        """``True`` if the application hashes passwords by itself."""
        self._setting = settings

    def init_app(self, app: Flask, services: Mapping[str, Service]) -> None:
        """Read the settings of an application, and add the views for its OAuth
        providers if it has some.

        :param app: The application.
        :param services: The services of the extension.
        :raises RuntimeError: A setting is missing or wrong.
        """
        settings = Settings.of(app, self._setting)

        for option in ("strategies", "parse_strategies"):
            for name in getattr(settings, option) or ():
                if name not in self.strategies:
                    raise RuntimeError(
                        f"{self._setting}['{option}'] names '{name}', which is not a"
                        f" strategy. There is: {', '.join(self.strategies)}."
                    )

        app.extensions.setdefault(EXTENSION, {})[self] = settings

        if settings.oauth.providers:
            self.check_users(app, services)
            self._add_oauth(app)

    def check_users(self, app: Flask, services: Mapping[str, Service]) -> None:
        """Look whether users have the fields that the providers of an application need.

        :param app: The application.
        :param services: The services of the extension.
        :raises RuntimeError: A field is missing, or not unique.
        """
        users = services.get(self.users_path)
        fields = fields_of(users) if users else None

        for provider in self.settings_of(app).oauth.providers.values():
            if fields is not None and not _is_unique(fields, provider.id_field):
                raise RuntimeError(
                    NO_ID_FIELD.format(
                        setting=self._setting,
                        provider=provider.name,
                        users=self.users_path,
                        field=provider.id_field,
                    )
                )

    @property
    def settings(self) -> Settings:
        """The settings of the current application."""
        return t.cast("Settings", current_app.extensions[EXTENSION][self])

    def settings_of(self, app: Flask) -> Settings:
        """Return the settings of an application.

        :param app: The application.
        """
        return t.cast("Settings", app.extensions[EXTENSION][self])

    @property
    def users(self) -> Service:
        """The service that has the users.

        :raises RuntimeError: There is none.
        """
        return self.lookup.service

    @property
    def id(self) -> str:
        """The name of the identifier field of users."""
        return self.lookup.id

    @property
    def user_fields(self) -> Fields | None:
        """The fields of users, or ``None`` if their service does not tell."""
        return fields_of(self.users)

    @property
    def as_service(self) -> Service:
        """The service that was made of this object, with its hooks."""
        return next(
            service
            for service in current_records.services.values()
            if service.target is self
        )

    def strategy(self, name: str) -> Strategy | OAuthStrategy:
        """Return a way to authenticate.

        :param name: Its name, or that of a configured OAuth provider.
        """
        return self.strategies.get(name, OAUTH)

    def create(self, data: t.Any, params: Params) -> Record:
        """Return an access token for what a client logs in with, and who he is. See
        section 2.2 of the specification.

        :param data: The name of the strategy and what it needs.
        :param params: What accompanies the call.
        :raises NotAuthenticated: The login failed.
        """
        allowed = self.settings.strategies

        # Only the server can say that somebody was at a provider.
        if LOGIN in params.extra:
            allowed = (*allowed, params.extra[LOGIN].provider.name)

        with _noting_hashes() as hashes:
            result = self.authenticate(data, params, allowed)

        if "accessToken" in result:
            return result

        token, payload = self._create_token(result.get("user"), hashes)
        known = {**result["authentication"], "accessToken": token, "payload": payload}
        return {"accessToken": token, **result, "authentication": known}

    def remove(self, id: Id, params: Params) -> Record:
        """Return what the token of the call says, which is not valid any more if there
        are ``revocations``.

        :param id: The token of the call, or ``None``.
        :param params: What accompanies the call.
        :raises NotAuthenticated: The call has no valid token, or the id is another one.
        """
        known = params.authentication or {}
        result = self.authenticate(known, params, self.settings.strategies)

        if id is not None and id != result.get("accessToken"):
            raise NotAuthenticated("Invalid access token")

        payload = result["authentication"].get("payload")

        if self.revocations and payload:
            self.revocations.revoke_token(payload)

        return result

    def authenticate(
        self, data: t.Any, params: Params, allowed: t.Collection[str]
    ) -> Record:
        """Return the result of a strategy: ``authentication``, ``user`` and what else
        it gives.

        :param data: The name of the strategy and what it needs.
        :param params: What accompanies the call.
        :param allowed: The names of the strategies that are accepted.
        :raises NotAuthenticated: It was refused.
        """
        name = data.get("strategy") if isinstance(data, dict) else None

        if not name:
            raise _invalid("no `strategy` set")

        if not isinstance(name, str) or name not in allowed:
            raise _invalid("strategy not allowed in authStrategies")

        result = call(self.strategy(name).authenticate, self, data, params)
        known = {"strategy": name, **result.get("authentication", {})}
        return {**result, "authentication": known}

    def parse(self, headers: Headers) -> Record | None:
        """Return what the headers of a request say of who makes it, for the first
        strategy that finds something.

        :param headers: The headers.
        """
        names = self.settings.parse_strategies

        for name in self.strategies if names is None else names:
            parse = self.strategies[name].parse
            found = parse(headers) if parse else None

            if found is not None:
                return {"strategy": name, **found}

        return None

    def announce(self, method: str, context: HookContext) -> None:
        """Send ``login`` or ``logout`` after the commit, with the result of the call
        but for the token.

        :param method: The name of the method.
        :param context: The call of this service.
        """
        known = without(context.result["authentication"], TOKEN)
        result = {**without(context.result, TOKEN), "authentication": known}
        context.service.emit(EVENTS[method], result)

    def revoke_user(self, id: Id) -> None:
        """Refuse all tokens of a user that were issued until now, as of the commit of
        the call in progress: log the user out everywhere.

        :param id: The identifier of the user.
        :raises RuntimeError: There are no ``revocations``.
        """
        if self.user_changes is None:
            raise RuntimeError(NO_STORE)

        self.user_changes.revoke([self.lookup.canonical_id(id)])

    def needs_users(self, app: Flask) -> bool:
        """Return whether an application gives tokens to users.

        :param app: The application.
        """
        settings = self.settings_of(app)
        names = settings.strategies
        is_own = any(self.strategies.get(name) in (JWT, LOCAL) for name in names)
        return is_own or bool(settings.oauth.providers)

    def create_token(self, user: Record | None) -> tuple[str, Record]:
        """Return a new access token and what it says. It is valid as long as the user
        has the password of now.

        :param user: The user it is for.
        :raises NotAuthenticated: There is no user.
        """
        return self._create_token(user, {})

    def verify_token(self, token: t.Any) -> Record:
        """Return what an access token says.

        :param token: What a client sent.
        :raises NotAuthenticated: It is not valid, or not any more.
        """
        payload = self.settings.tokens.verify_token(token)
        self._check_revoked(payload)
        return payload

    def user_of(self, payload: Record) -> Record:
        """Return the user that an access token was issued for, as :meth:`get_user`
        does.

        :param payload: The claims of the token, whose signature has been verified, now
            or some minutes ago.
        :raises NotAuthenticated: The token has expired or was revoked, its user is
            gone, or the password was changed since.
        """
        if payload["exp"] <= time.time():
            raise NotAuthenticated("jwt expired")

        self._check_revoked(payload)
        user, stored = self.lookup.load(payload["sub"])
        id = user[self.id]

        # A database takes more than one text for the same number.
        if str(id) != str(payload["sub"]):
            raise NotAuthenticated("invalid token")

        # Hooks may have changed what they were given, or kept an older record.
        if not self._is_of(payload, stored) and not self._is_of(
            payload, self.lookup.credentials(id)
        ):
            raise NotAuthenticated("jwt revoked")

        return user

    def get_user(self, id: Id) -> Record:
        """Return a user as hooks and clients may see him: without the fields that are
        hidden or protected. The service of the users is called with its hooks, as from
        Python; a hook that raises keeps the user out.

        :param id: His identifier.
        :raises NotAuthenticated: There is no such user.
        """
        return self.lookup.load(id)[0]

    def login(self, username: str, password: str) -> Record:
        """Return the user with a name and a password. Takes as long if there is none.

        :param username: What was typed as the name.
        :param password: What was typed as the password.
        :raises NotAuthenticated: There is no such user, or it is not his password.
        :raises TooManyRequests: There were too many attempts for this user.
        """
        user = self.lookup.find(username) or {}
        limits, path = current_records.limits, self.as_service.path
        account = self._account(username, user)

        if limits is not None:
            limits.count_login(path, account)

        hash: t.Any = user.get(self.password)
        passwords = self.settings.passwords

        if not passwords.verify(password, hash) or not password:
            raise NotAuthenticated("Invalid login")

        if limits is not None:
            limits.remember_login(path, account)

        if not self.custom_hashing and passwords.needs_update(hash):
            new = passwords.hash_again(password, hash)
            hash = self.lookup.replace_hash(user, new)

        id = user[self.id]
        found, stored = self.lookup.load(id)
        hashes = _verified.get()

        if hashes is not None:
            # A service that gives no hash by the identifier has none to compare.
            name, credentials = self.password, self.lookup.credentials
            is_given = name in stored or name in credentials(id)
            hashes[str(id)] = hash if is_given else None

        return found

    def _create_token(
        self, user: Record | None, hashes: Mapping[str, str | None]
    ) -> tuple[str, Record]:
        if user is None:
            raise NotAuthenticated("A token is issued for a user only.")

        subject = user[self.id]
        key = str(subject)
        # The password may have been changed since it was verified.
        hash = (
            hashes[key]
            if key in hashes
            else self.lookup.credentials(subject).get(self.password)
        )
        later = self.revocations.issued_before(subject) if self.revocations else 0
        token_id = create_token_id(self.users_path, hash)
        return self.settings.tokens.create_token(
            subject, token_id=token_id, issued_at=later
        )

    def _is_of(self, payload: Record, user: Record) -> bool:
        hash = user.get(self.password)
        return is_token_id_of(str(payload["jti"]), self.users_path, hash)

    def _check_revoked(self, payload: Record) -> None:
        if self.revocations and self.revocations.is_revoked(payload):
            raise NotAuthenticated("jwt revoked")

    def _add_oauth(self, app: Flask) -> None:
        try:
            from .oauth import OAuthBlueprint
        except ImportError as error:
            raise RuntimeError(
                f"{self._setting}['oauth'] needs 'flask-record-services[oauth]'."
            ) from error

        settings = self.settings_of(app)

        for name in settings.oauth.providers:
            if not isinstance(self.strategy(name), OAuthStrategy):
                raise RuntimeError(
                    f"{self._setting}['oauth'][{name!r}] has the name of a strategy."
                )

        if "records_oauth" in app.blueprints:
            raise RuntimeError(
                f"{self._setting}['oauth'] is the second one: only one authentication"
                " service of an application can have providers."
            )

        blueprint = OAuthBlueprint(app, self, settings.oauth).make("/oauth")
        app.register_blueprint(blueprint)

    def _account(self, username: str, user: Record) -> str:
        """Return what a login counts for: one user, however the name is written."""
        if user:
            return f"id {user[self.id]}"

        return f"name {unicodedata.normalize('NFKC', username).casefold().strip()}"


@contextmanager
def _noting_hashes() -> Iterator[dict[str, str | None]]:
    """Note the password hashes that are verified in the block, by users."""
    hashes: dict[str, str | None] = {}
    token = _verified.set(hashes)

    try:
        yield hashes
    finally:
        _verified.reset(token)


def _invalid(reason: str) -> NotAuthenticated:
    return NotAuthenticated(f"Invalid authentication information ({reason})")


def _is_unique(fields: Fields, name: str) -> bool:
    return name in fields.names and fields.is_unique(name)
