"""The service that issues tokens."""

from __future__ import annotations

import typing as t
import unicodedata
from collections.abc import Mapping
from contextlib import contextmanager

from flask import current_app

from ..errors import NotAuthenticated
from ..names import METHODS
from ..service import Capabilities
from ..service.context import HookContext, Params
from ..service.results import without
from ..service.schemas import Schemas, schemas_of
from ..signals import call
from .limits import count, count_account, is_of_client
from .oauth import add_views, LOGIN, OAUTH, OAuthStrategy
from .passwords import MAX_LENGTH
from .records import current_records
from .refresh_tokens import KIND, RefreshTokens
from .settings import AuthenticationSettings
from .strategies import (
    ACCESS_TOKEN,
    JWT,
    LOCAL,
    schema_of_credentials,
    schema_of_login,
)
from .tokens import REASONS, UserTokens, VerifiedUser
from .users import Users

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from flask import Flask
    from werkzeug.datastructures import Headers

    from ..service import Service
    from ..typing import Id, Record
    from .strategies import Strategy
    from .token_table import TableTokens

    Strategies: t.TypeAlias = Mapping[str, Strategy | OAuthStrategy]

EVENTS: t.Final = {"create": "login", "remove": "logout"}
"""The event that each method sends."""

SUMMARIES: t.Final = {"create": "Log in", "remove": "Log out"}
"""The summary of each method in documents."""

TOKEN_STRATEGIES: t.Final = ("jwt", KIND)
"""The strategies that are not attempts to log in: their tokens can't be guessed."""

EXTENSION: t.Final = "records_authentication"
"""The key of ``app.extensions`` with the settings of the authentication services."""

UNKNOWN_FORMAT: t.Final = """\
User %r of '%s' can't log in, because the format of the password hash is not known: \
it is not of Argon2, bcrypt or Werkzeug. For others, write a strategy 'local' of your \
own: AuthenticationService(strategies=...).\
"""

SECRET_FIELDS: t.Final = frozenset({ACCESS_TOKEN, "refreshToken"})
"""The fields of a login that no event has."""


class AuthenticationService(Capabilities):
    """Issues access tokens to users, and finds the user that a token, or another
    credential, belongs to. Add it as ``authentication``: see section 5 of the
    specification.

    Services ask the first one that is added by default.

    :param users: The path of the service that has the users.
    :param username: The field of a user with the name for logins.
    :param password: The field of a user with the password hash.
    :param normalize: Turns what was typed into the user name, for example
        :meth:`str.lower`: in logins, and in all writes of users. No change by default:
        names that a database takes for the same are different users.
    :param strategies: Strategies besides ``local`` and ``jwt``, by name. They replace
        the ones of the same name.
    :param tokens: The table of tokens, :class:`.TableTokens`. With it, tokens can be
        revoked. Without it a token is valid until it expires, the password changes, or
        the user is removed.
    :param refresh: ``True`` to renew short access tokens by refresh tokens in bodies,
        ``"cookie"`` by one in a cookie that scripts can't read, for pages of the same
        site, over HTTP only. Both need ``tokens``.
    :param custom_hashing: The application hashes passwords itself, in the model or in
        hooks of its own: the hook :func:`.hash_password` is not required.
    :param settings: The name of the application's setting for this service.
    :raises ValueError: ``refresh`` is not valid, or has no store.
    """

    events = tuple(EVENTS.values())
    sends_events = False
    public_by_default: tuple[str, ...] = tuple(
        name for name in METHODS if name != "remove"
    )

    def __init__(
        self,
        users: str = "users",
        *,
        username: str = "email",
        password: str = "password",
        normalize: Callable[[str], str] | None = None,
        strategies: Strategies | None = None,
        tokens: TableTokens | None = None,
        refresh: bool | t.Literal["cookie"] = False,
        custom_hashing: bool = False,
        settings: str = "RECORDS_AUTHENTICATION",
    ) -> None:
        self.users_path = users.strip("/")
        """The path of the service that has the users."""
        self.username = username
        """The field of a user with the name for logins."""
        self.password = password
        """The field of a user with the password hash."""
        self.custom_hashing = custom_hashing
        """``True`` if the application hashes passwords itself."""
        self.verified: str | None = None
        """The field of a user that is ``True`` for a confirmed address, if there is
        one: :class:`.AccountManagement` names it.
        """

        if refresh not in (False, True, "cookie") or (refresh and tokens is None):
            raise ValueError(
                "'refresh' is True or \"cookie\", and needs a store of tokens:"
                " AuthenticationService(tokens=TableTokens(Token), refresh=True)."
            )

        self.lookup = Users(self.users_path, username, password, normalize)
        """Looks users up."""
        self.token_store = tokens
        """Stores tokens, or ``None``."""
        self.refresh: RefreshTokens | None = None
        """Renews logins, or ``None``."""
        built_in: Strategies = {"jwt": JWT, "local": LOCAL}

        if tokens is not None and refresh:
            self.refresh = RefreshTokens(self, tokens, cookie=refresh == "cookie")
            built_in = {**built_in, KIND: self.refresh.strategy}
            # A logout looks itself for a token that ends the session.
            self.public_by_default = METHODS

        self.strategies: Strategies = {**built_in, **(strategies or {})}
        """The strategies by name."""
        self._setting = settings
        self.tokens = UserTokens(self)
        """Issues tokens to users, finds the users of tokens, and revokes tokens."""

    def init_app(self, app: Flask) -> None:
        """Read the settings of an application, and add the views for OAuth."""
        has_refresh = self.refresh is not None
        settings = AuthenticationSettings.of(app, self._setting, refresh=has_refresh)
        beginning = f"{self._setting}['strategies'] names"
        self.check_strategies(settings.strategies, beginning)
        app.extensions.setdefault(EXTENSION, {})[self] = settings

        if settings.oauth.providers:
            add_views(app, self)

    def check_strategies(self, names: Collection[str], beginning: str) -> None:
        """Check that strategies exist.

        :param beginning: The beginning of the message of an error.
        :raises RuntimeError: One does not.
        """
        for name in set(names).difference(self.strategies):
            raise RuntimeError(
                f"{beginning} '{name}', which is not a strategy. The strategies are:"
                f" {', '.join(self.strategies)}."
            )

    @property
    def settings(self) -> AuthenticationSettings:
        """The settings of the current application."""
        return t.cast("AuthenticationSettings", current_app.extensions[EXTENSION][self])

    def settings_of(self, app: Flask) -> AuthenticationSettings:
        """Return the settings of an application."""
        return t.cast("AuthenticationSettings", app.extensions[EXTENSION][self])

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

        :raises RuntimeError: No such service exists.
        """
        return self.lookup.service

    @property
    def id(self) -> str:
        """The name of the identifier field of users."""
        return self.lookup.id

    def connect(self, service: Service, services: Mapping[str, Service]) -> None:
        """Connect the hooks of the service that was made of this object."""
        self.as_service = service
        """The service that was made of this object, with its hooks."""
        self.lookup.services = services
        service.after("create", "remove")(self.announce)

        if self.refresh is not None:
            service.error("create")(self.refresh.end_reused)

    def schemas_for(self, params: Params | None) -> Schemas:
        """Return the JSON Schemas of what a caller sends and gets."""
        user, names = schemas_of(self.users, params).record, self.settings.strategies
        login = schema_of_login(
            user, {} if self.refresh is None else self.refresh.properties
        )
        return Schemas(
            record=login,
            create={"anyOf": [schema_of_credentials(self, name) for name in names]},
            many=login,
            multi=frozenset({"remove"}),
            summaries=SUMMARIES,
        )

    def strategy(self, name: str) -> Strategy | OAuthStrategy:
        """Return a strategy by its name, or a configured OAuth provider's."""
        return self.strategies.get(name, OAUTH)

    def create(self, data: t.Any, params: Params) -> Record:
        """Return an access token and its user, for the credentials of a client. See
        section 2.2 of the specification.

        :param data: The name of the strategy and what it needs.
        :raises NotAuthenticated: The login failed.
        """
        allowed = self.settings.strategies

        # Only the server can confirm a login at a provider.
        if LOGIN in params.extra:
            allowed = (*allowed, params.extra[LOGIN].provider.name)

        has_token = isinstance(data, dict) and data.get("strategy") in TOKEN_STRATEGIES

        # Clients send their token when a page loads, and when they connect again.
        if params.provider is not None and not has_token:
            count(self.as_service.path, "create")

        result = self.authenticate(data, params, allowed)
        login, is_known = result["authentication"], ACCESS_TOKEN in result

        # A token would be for all that the user may do.
        if "scopes" in login or not (is_known or self.lookup.is_there):
            raise _invalid("strategy issues no tokens")

        if is_known:
            return result

        user = result.get("user")
        fields: Record = {}

        if self.refresh is not None and user is not None:
            token, payload, fields = self.refresh.issue(result, params)
        else:
            token, payload = self.tokens.create(user)

        login = {**login, ACCESS_TOKEN: token, "payload": payload}
        return {ACCESS_TOKEN: token, **fields, **result, "authentication": login}

    def remove(self, id: Id, params: Params) -> Record:
        """Return the login of the call, and end its session. A store revokes the token.
        With refresh tokens, one of these is a login too, and an access token that has
        expired.

        :param id: The token of the call, or ``None``.
        :raises NotAuthenticated: The call has no such token, or the id is another one.
        """
        credentials = params.authentication or {}

        try:
            result = self.authenticate(credentials, params, self.settings.strategies)
        except NotAuthenticated as error:
            session = self.refresh and self.refresh.session_of(id, params)

            if not session and not credentials:
                raise NotAuthenticated("Not authenticated") from error

            if not session:
                raise

            authentication = {"strategy": KIND, "payload": session}
            user = self.get_user(session["sub"])
            result = {"authentication": authentication, "user": user}
        else:
            if id is not None and id != result.get(ACCESS_TOKEN):
                raise NotAuthenticated("Invalid access token")

        if payload := result["authentication"].get("payload"):
            self.tokens.revoke(payload)

            if self.refresh is not None:
                self.refresh.end(payload, params)

        return result

    def end_session(self, session: Record) -> None:
        """Revoke the tokens of a session, by their common claims, and end the logins of
        its connections.
        """
        self.tokens.revoke(session)
        event = {"authentication": {"strategy": KIND, "payload": session}, "user": None}
        self.as_service.emit(EVENTS["remove"], event)

    def authenticate(
        self, data: t.Any, params: Params, allowed: Collection[str]
    ) -> Record:
        """Return the result of a strategy: ``authentication``, ``user`` and what else
        it returns.

        :param allowed: The names of the strategies that are accepted.
        :raises NotAuthenticated: The strategy refused, or is not accepted.
        """
        name = data.get("strategy") if isinstance(data, dict) else None

        if not name:
            raise _invalid("no `strategy` set")

        if not isinstance(name, str) or name not in allowed:
            raise _invalid("strategy not allowed in authStrategies")

        result = call(self.strategy(name).authenticate, self, data, params)
        token = {ACCESS_TOKEN: result[ACCESS_TOKEN]} if ACCESS_TOKEN in result else {}
        authentication = {"strategy": name, **token, **result.get("authentication", {})}
        return {**result, "authentication": authentication}

    def parse(self, headers: Headers, accepted: Collection[str]) -> Record | None:
        """Return the credentials in the headers of a request, of the first strategy
        that finds any: of an accepted one, or else of one that will be refused.
        """
        readers = {n: each.parse for n, each in self.strategies.items() if each.parse}
        other = None

        for name in sorted(readers, key=lambda name: name not in accepted):
            credentials = call(readers[name], headers)

            if credentials is None:
                continue

            credentials = {"strategy": name, **credentials}
            is_token = len(readers) > 1 and self.strategies[name] is JWT

            if not is_token or self.has_signed(credentials[ACCESS_TOKEN]):
                return credentials

            # A strategy of the application may read its own tokens of this header.
            other = credentials

        return other

    def has_signed(self, token: str) -> bool:
        """Return ``True`` for a token of this service, which may have expired."""
        try:
            self.settings.tokens.verify_token(token)
        except NotAuthenticated as error:
            return self.lookup.is_there and error.message in REASONS

        return self.lookup.is_there

    def announce(self, method: str, context: HookContext) -> None:
        """Send ``login`` or ``logout`` after the commit, with the result of the call
        but for the token.
        """
        login = without(context.result["authentication"], SECRET_FIELDS)
        event = {**without(context.result, SECRET_FIELDS), "authentication": login}
        context.service.emit(EVENTS[method], event)

    def login(self, username: str, password: str) -> Record:
        """Return the user with a name and a password. Takes as long without one.

        :raises NotAuthenticated: There is no such user, or the password is wrong.
        :raises TooManyRequests: There were too many attempts for this user.
        """
        with self.attempt(username):
            return self._user_with(username, password)

    def _user_with(self, username: str, password: str) -> Record:
        users, passwords = self.lookup, self.settings.passwords
        user = users.find(username) or {}
        hash: t.Any = user.get(users.password)
        is_valid = passwords.verify(password, hash)

        if is_valid is None and hash:
            current_app.logger.warning(UNKNOWN_FORMAT, user.get(users.id), users.path)

        if not is_valid or not password:
            raise NotAuthenticated("Invalid login")

        id = user[users.id]
        user, record = users.load(id)
        # Where `get` returns no hash, tokens are compared with nothing.
        has_hash = users.password in record or users.password in users.credentials(id)
        return VerifiedUser(user, users.service, hash if has_hash else None)

    @contextmanager
    def attempt(self, username: str) -> Iterator[None]:
        """Count an attempt to log in, whether or not there is such a user, by the
        application's limiter, or if it fails. Each spelling of a name counts as one.

        :raises TooManyRequests: There were too many attempts.
        """
        name = unicodedata.normalize("NFKC", self.lookup.normalize(username))
        account = f"name {name.casefold().strip()}"
        count_account(self.as_service.path, account)
        failed = self.settings.failed_logins

        if failed is None or current_records.limits or not is_of_client():
            yield
        else:
            with failed.attempt(account):
                yield

    def hash_password(self, password: str) -> str:
        """Return the hash of a password, as the hook :func:`.hash_password` stores it.

        :raises BadRequest: It is too short or too long.
        """
        return self.settings.passwords.hash(password)

    def verify_password(self, password: str, hash: str | bytes | None) -> bool:
        """Return whether a password has a hash. Takes as long if there is no hash.

        :param hash: The hash of the user, or ``None`` without a user.
        """
        is_long = len(password) > MAX_LENGTH
        return not is_long and bool(self.settings.passwords.verify(password, hash))

    def get_user(self, id: Id) -> Record:
        """Return a user as hooks and clients may see them: without the fields that are
        hidden or protected. The service of the users is called with its hooks, as from
        Python; a hook that raises refuses the user.

        :raises NotAuthenticated: There is no such user.
        """
        return self.lookup.load(id)[0]

    def create_token(self, user: Record | None) -> tuple[str, Record]:
        """Return a new access token and its claims. It is valid as long as the user
        keeps the current password.

        :raises NotAuthenticated: There is no user.
        """
        return self.tokens.create(user)

    def revoke_user(self, id: Id) -> None:
        """Refuse all tokens of a user that were issued until now: log the user out
        everywhere. A table is written in the call in progress, and refuses the tokens
        that are issued until its commit, too, if that takes five seconds at most.

        :raises NotFound: There is no such user.
        :raises RuntimeError: There is no store of tokens.
        """
        # The identifier may be spelt in another way, such as '01'.
        self.tokens.revoke_user(self.users._get(id)[self.id])


def _invalid(reason: str) -> NotAuthenticated:
    return NotAuthenticated(f"Invalid authentication information ({reason})")
