"""The service that issues tokens."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from flask import current_app

from ..context import HookContext, Params
from ..errors import NotAuthenticated
from ..globals import current_records
from ..pagination import without
from ..signals import call
from .oauth_strategy import LOGIN, OAUTH, OAuthStrategy
from .password_checks import check_provider_users
from .password_logins import log_in, verified_hashes
from .passwords import HASHERS, MAX_LENGTH
from .revocation import Revocations
from .settings import Settings
from .strategies import JWT, LOCAL
from .user_changes import UserChanges
from .user_tokens import UserTokens
from .users import Users

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from flask import Flask
    from werkzeug.datastructures import Headers

    from ..service import Service
    from ..service.schemas import Schemas
    from ..typing import Id, Record
    from .hashers import Hasher
    from .revocation import RevocationStore
    from .strategies import Strategy

EVENTS: t.Final = {"create": "login", "remove": "logout"}
"""The event that each method sends."""

EXTENSION: t.Final = "records_authentication"
"""The key of ``app.extensions`` with the settings of the authentication services."""

SECRET_FIELDS: t.Final = frozenset({"accessToken"})
"""The fields of a login that no event has."""


class AuthenticationService:
    """Issues access tokens to users, and finds the user that a token, or another
    credential, belongs to. Add it as ``authentication``: see section 5 of the
    specification.

    Services ask the first one that is added by default.

    :param users: The path of the service that has the users.
    :param username: The field of a user with the name for logins.
    :param password: The field of a user with the password hash.
    :param normalize: Turns what was typed into the user name, for example
        :meth:`str.lower` where names are stored in lower case. No change by default:
        names that a database takes for the same are different users.
    :param strategies: Strategies besides ``local`` and ``jwt``, by name. They replace
        those of the same name.
    :param revocations: The store of revoked tokens. Without it a token is valid until
        it expires, the password changes, or the user is removed.
    :param hasher: Makes new password hashes: ``"argon2"``, ``"werkzeug"``,
        ``"bcrypt"``, or an object with the methods of :class:`.Hasher`. Logins verify
        the hashes of all of them.
    :param rehash: A login replaces a hash that ``hasher`` would make in another format
        or with other costs. By default hashes stay as they are.
    :param custom_hashing: The application hashes passwords itself, in the model or in
        hooks of its own: the hook :func:`.hash_password` is not required.
    :param settings: The name of the application's setting for this service.
    :raises ValueError: The hasher is not known, can't tell which hashes to replace, or
        both the application and logins would hash.
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
        hasher: str | Hasher = "argon2",
        rehash: bool = False,
        custom_hashing: bool = False,
        settings: str = "RECORDS_AUTHENTICATION",
    ) -> None:
        self.users_path = users.strip("/")
        """The path of the service that has the users."""
        self.username = username
        """The field of a user with the name for logins."""
        self.password = password
        """The field of a user with the password hash."""
        _check_hashing(hasher, rehash, custom_hashing)
        self.rehash = rehash
        """``True`` if logins replace older hashes."""
        self.custom_hashing = custom_hashing
        """``True`` if the application hashes passwords itself."""

        if not isinstance(strategies or {}, Mapping):
            raise TypeError(
                "'strategies' maps names to strategies:"
                f' strategies={{"api-key": ApiKey()}}, not {strategies!r}.'
            )

        built_in: dict[str, Strategy | OAuthStrategy] = {"jwt": JWT, "local": LOCAL}
        self.strategies = built_in | dict(strategies or {})
        """The strategies by name."""
        self.lookup = Users(self.users_path, username, password, normalize)
        """Looks users up."""
        self.revocations: Revocations | None = None
        """The revoked tokens, if there is a store."""
        self.user_changes: UserChanges | None = None
        """Revokes the tokens of users that change, if there is a store."""
        self._setting = settings
        self._hasher = hasher

        # A store may be empty, and false.
        if revocations is not None:
            self.revocations = Revocations(revocations, self.users_path)
            self.user_changes = UserChanges(self.lookup, self.revocations)

        self.tokens = UserTokens(self.lookup, self.revocations)
        """Issues tokens to users, and finds the users of tokens."""

    def init_app(self, app: Flask, services: Mapping[str, Service]) -> None:
        """Read the settings of an application, and add the views for its OAuth
        providers if it has any.

        :raises RuntimeError: A setting is missing or wrong.
        """
        settings = Settings.of(app, self._setting, self._hasher)
        settings.check_strategies(self.strategies)
        app.extensions.setdefault(EXTENSION, {})[self] = settings

        if not settings.oauth.providers:
            return

        self.check_users(app, services)

        try:
            from .oauth import add_views
        except ImportError as error:
            raise RuntimeError(
                f"{self._setting}['oauth'] needs 'flask-record-services[oauth]'."
            ) from error

        add_views(app, self)

    def check_users(self, app: Flask, services: Mapping[str, Service]) -> None:
        """Check that users have what the providers of an application need.

        :raises RuntimeError: A method or a field is missing, or a field is not unique.
        """
        users = services.get(self.users_path)

        if users is not None:
            check_provider_users(self.settings_of(app), users)

    @property
    def settings(self) -> Settings:
        """The settings of the current application."""
        return t.cast("Settings", current_app.extensions[EXTENSION][self])

    def settings_of(self, app: Flask) -> Settings:
        """Return the settings of an application."""
        return t.cast("Settings", app.extensions[EXTENSION][self])

    @property
    def login_fields(self) -> dict[str, str] | None:
        """The names of the fields of logins with a password, or ``None`` if the current
        application has none.
        """
        if "local" not in self.settings.strategies:
            return None

        return {"username": self.username, "password": self.password}

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
    def as_service(self) -> Service:
        """The service that was made of this object, with its hooks."""
        services = current_records.services.values()
        return next(service for service in services if service.target is self)

    def schemas_for(self, params: Params | None) -> Schemas:
        """Return the JSON Schemas of what a caller sends and gets.

        :param params: The params of the caller, or ``None`` for all clients.
        """
        # They are needed for documents only.
        from .login_schemas import login_schemas

        return login_schemas(self, params)

    def strategy(self, name: str) -> Strategy | OAuthStrategy:
        """Return a strategy by its name, or that of a configured OAuth provider."""
        return self.strategies.get(name, OAUTH)

    def create(self, data: t.Any, params: Params) -> Record:
        """Return an access token and its user, for the credentials of a client. See
        section 2.2 of the specification.

        :param data: The name of the strategy and what it needs.
        :param params: What accompanies the call.
        :raises NotAuthenticated: The login failed.
        """
        allowed = self.settings.strategies

        # Only the server can confirm a login at a provider.
        if LOGIN in params.extra:
            allowed = (*allowed, params.extra[LOGIN].provider.name)

        with verified_hashes() as hashes:
            result = self.authenticate(data, params, allowed)

        if "accessToken" in result:
            return result

        user = result.get("user")
        token, payload = self.tokens.create(self.settings.tokens, user, hashes)
        claims = {"accessToken": token, "payload": payload}
        authentication = {**result["authentication"], **claims}
        return {"accessToken": token, **result, "authentication": authentication}

    def remove(self, id: Id, params: Params) -> Record:
        """Return the login of the call's token. A store revokes the token.

        :param id: The token of the call, or ``None``.
        :param params: What accompanies the call.
        :raises NotAuthenticated: The call has no valid token, or the id is another one.
        """
        credentials = params.authentication or {}
        result = self.authenticate(credentials, params, self.settings.strategies)

        if id is not None and id != result.get("accessToken"):
            raise NotAuthenticated("Invalid access token")

        payload = result["authentication"].get("payload")

        if self.revocations and payload:
            self.revocations.revoke_token(payload)

        return result

    def authenticate(
        self, data: t.Any, params: Params, allowed: Collection[str]
    ) -> Record:
        """Return the result of a strategy: ``authentication``, ``user`` and what else
        it returns.

        :param data: The name of the strategy and what it needs.
        :param params: What accompanies the call.
        :param allowed: The names of the strategies that are accepted.
        :raises NotAuthenticated: The strategy refused, or is not accepted.
        """
        name = data.get("strategy") if isinstance(data, dict) else None

        if not name:
            raise _invalid("no `strategy` set")

        if not isinstance(name, str) or name not in allowed:
            raise _invalid("strategy not allowed in authStrategies")

        result = call(self.strategy(name).authenticate, self, data, params)
        authentication = {"strategy": name, **result.get("authentication", {})}
        return {**result, "authentication": authentication}

    def parse(self, headers: Headers) -> Record | None:
        """Return the credentials in the headers of a request, of the first strategy
        that finds any.
        """
        names = self.settings.parse_strategies

        for name in self.strategies if names is None else names:
            parse = self.strategies[name].parse
            credentials = parse(headers) if parse else None

            if credentials is not None:
                return {"strategy": name, **credentials}

        return None

    def announce(self, method: str, context: HookContext) -> None:
        """Send ``login`` or ``logout`` after the commit, with the result of the call
        but for the token.
        """
        authentication = without(context.result["authentication"], SECRET_FIELDS)
        result = without(context.result, SECRET_FIELDS)
        event = {**result, "authentication": authentication}

        if "user" in event:
            event["user"] = self.lookup.for_events(event["user"])

        context.service.emit(EVENTS[method], event)

    def login(self, username: str, password: str) -> Record:
        """Return the user with a name and a password. Takes as long if there is none.

        :param username: The name as it was typed.
        :param password: The password as it was typed.
        :raises NotAuthenticated: There is no such user, or the password is wrong.
        :raises TooManyRequests: There were too many attempts for this user.
        """
        return log_in(self, username, password)

    def hash_password(self, password: str) -> str:
        """Return the hash of a password, as the hook :func:`.hash_password` stores it.

        :param password: The password as it was typed.
        :raises BadRequest: It is too long, or can't be hashed.
        """
        return self.settings.passwords.hash(password)

    def verify_password(self, password: str, hash: str | bytes | None) -> bool:
        """Return whether a password has a hash. Takes as long if there is no hash.

        :param password: The password as it was typed.
        :param hash: The hash of the user, or ``None`` without a user.
        """
        if len(password) > MAX_LENGTH:
            return False

        return self.settings.passwords.verify(password, hash)

    def get_user(self, id: Id) -> Record:
        """Return a user as hooks and clients may see them: without the fields that are
        hidden or protected. The service of the users is called with its hooks, as from
        Python; a hook that raises refuses the user.

        :param id: The identifier of the user.
        :raises NotAuthenticated: There is no such user.
        """
        return self.lookup.load(id)[0]

    def create_token(self, user: Record | None) -> tuple[str, Record]:
        """Return a new access token and its claims. It is valid as long as the user
        keeps the current password.

        :param user: The user it is for.
        :raises NotAuthenticated: There is no user.
        """
        return self.tokens.create(self.settings.tokens, user, {})

    def revoke_user(self, id: Id) -> None:
        """Refuse all tokens of a user that were issued until now, as of the commit of
        the call in progress: log the user out everywhere.

        :param id: The identifier of the user.
        :raises RuntimeError: There is no store of revoked tokens.
        """
        if self.user_changes is None:
            raise RuntimeError(
                "Revoking tokens needs a store. Pass one to the authentication service:"
                " AuthenticationService(revocations=TableRevocations(RevokedToken))."
            )

        self.user_changes.revoke([self.lookup.canonical_id(id)])


def _check_hashing(hasher: str | Hasher, rehash: bool, custom_hashing: bool) -> None:
    """Check arguments that depend on each other.

    :raises ValueError: One is not valid.
    """
    if isinstance(hasher, str) and hasher not in HASHERS:
        names = ", ".join(map(repr, HASHERS))
        raise ValueError(
            f"hasher={hasher!r} is not known. It can be {names}, or an object with the"
            " methods 'hash' and 'verify'."
        )

    if rehash and custom_hashing:
        raise ValueError(
            "With custom_hashing=True the application hashes passwords itself. Leave"
            " out rehash=True."
        )

    if rehash and not isinstance(hasher, str) and not hasattr(hasher, "needs_update"):
        raise ValueError(
            "rehash=True needs a method 'needs_update' of the hasher: it takes a hash,"
            " and returns True for one to be replaced."
        )


def _invalid(reason: str) -> NotAuthenticated:
    return NotAuthenticated(f"Invalid authentication information ({reason})")
