"""The strategy that turns a profile of a provider into a user."""

from __future__ import annotations

import typing as t
from contextlib import contextmanager

from ..database.transaction import Transaction
from ..errors import Conflict, NotAuthenticated
from ..http.routes import current_routes
from ..service.context import Params
from .oauth_settings import with_answer
from .strategies import ACCESS_TOKEN
from .users import fields_of

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from werkzeug.datastructures import Headers

    from ..errors import RecordsError
    from ..query import Fields
    from ..typing import Record
    from .providers import Profile, Provider
    from .service import AuthenticationService


class OAuthLogin(t.NamedTuple):
    """A login at a provider, as the strategy gets it in ``params.extra``."""

    provider: Provider
    """The provider."""

    raw: Record
    """The profile as the provider sent it."""

    link: Record | None = None
    """The claims of the access token whose user wants the login connected."""


LOGIN: t.Final = "oauth"
"""The key of ``params.extra`` with the login."""


OPTIONAL_FIELDS: t.Final = frozenset({"name", "avatar", "email"})
"""The fields of a profile that are left out if they do not fit."""

LOGGED_OUT: t.Final = (
    "Your login is not valid ({}). Log in again, then connect the other one."
)


class OAuthStrategy:
    """Finds or creates the user of a profile. See section 5.5 of the specification.

    Override its methods, except :meth:`authenticate`, and pass an instance of the
    subclass to the ``strategies`` of an :class:`.AuthenticationService`, by the name of
    the provider.
    """

    parse: t.Callable[[Headers], Record | None] | None = None

    def profile(self, login: OAuthLogin) -> Profile:
        """Return the profile of a login.

        :param login: The login.
        :raises ValueError: The profile has no usable identifier.
        """
        return login.provider.read_profile(login.raw)

    def user_data(
        self, login: OAuthLogin, profile: Profile, user: Record | None
    ) -> Record:
        """Return the fields of a user that a login sets. Those that users do not have
        are left out.

        A new user gets the email of the profile; an existing one keeps its own.

        :param login: The login.
        :param profile: Its profile.
        :param user: The user, if there is one.
        """
        data = {
            login.provider.id_field: profile.id,
            "name": profile.name,
            "avatar": profile.avatar,
        }

        if user is None:
            data["email"] = profile.email
        elif login.link is not None:
            # The user may have a name and an image already.
            data = {
                name: value
                for name, value in data.items()
                if name == login.provider.id_field or user.get(name) is None
            }

        return {name: value for name, value in data.items() if value is not None}

    def success_url(self, target: str, result: Record) -> str:
        """Return the address that the browser goes to after a login, with the access
        token after the ``#``. It is called in the request of the browser, after the
        commit.

        :param target: The address that the user returns to, which is one that the
            settings allow.
        :param result: The result of the login, with ``accessToken`` and ``user``.
        """
        return with_answer(target, access_token=result[ACCESS_TOKEN])

    def failure_url(self, target: str, error: RecordsError) -> str:
        """Return the address that the browser goes to after a login that failed, with
        the message after the ``#``.

        :param target: The address that the user returns to.
        :param error: The reason.
        """
        return with_answer(target, error=error.message)

    def authenticate(
        self, service: AuthenticationService, data: Record, params: Params
    ) -> Record:
        """Return the user of a login.

        :param service: The authentication service.
        :param data: The name of the strategy.
        :param params: What accompanies the call, with the login in ``extra``.
        :raises NotAuthenticated: There was no login at the provider, or the token of
            the user to connect is not valid any more.
        :raises Conflict: The email, or the profile, belongs to another user.
        """
        login: OAuthLogin | None = params.extra.get(LOGIN)

        if login is None:
            prefix = current_routes().mount.url_prefix
            raise NotAuthenticated(f"Log in at {prefix}/oauth/{data['strategy']}.")

        try:
            profile = self.profile(login)
        except ValueError as error:
            title = login.provider.title
            raise NotAuthenticated(f"{title} sent a profile without an id.") from error

        user = self._find(service, login, profile)
        fields, users = fields_of(service.users), service.users
        data = self.user_data(login, profile, user)

        if fields is not None:
            data = {k: v for k, v in data.items() if _is_kept(fields, k, v)}

        is_proven = profile.email_verified and "email" in data

        # An override may have set another address.
        if user is None and is_proven and data["email"] == profile.email:
            data |= {service.verified: True} if service.verified else {}

        if user is None:
            user = users.create(data)
        elif changes := {k: v for k, v in data.items() if user.get(k) != v}:
            user = users.patch(user[service.id], changes)

        return {"user": service.get_user(user[service.id])}

    def _find(
        self, service: AuthenticationService, login: OAuthLogin, profile: Profile
    ) -> Record | None:
        users = service.lookup

        if login.link is None:
            return users.find_by(login.provider.id_field, profile.id, lock=True)

        # The token may have been revoked while its user was at the provider. Whoever
        # proves the address of the user from now on waits, and ends this login, too.
        with explaining_refusals():
            user = users.lock(login.link["sub"])
            service.tokens.user_of(login.link)

        return user


def _is_kept(fields: Fields, name: str, value: t.Any) -> bool:
    """Return whether users have a field of a login. An optional field that does not fit
    does not refuse the login.
    """
    if name not in OPTIONAL_FIELDS:
        return name in fields.names

    try:
        fields.stored[name].stored(value)
    except (KeyError, ValueError):
        return False

    return True


@contextmanager
def explaining_refusals() -> Iterator[None]:
    """Say in words for people that the token of a user who connects a login is not
    valid.

    :raises NotAuthenticated: It is not.
    """
    try:
        yield
    except NotAuthenticated as error:
        raise NotAuthenticated(LOGGED_OUT.format(error.message.rstrip("."))) from error


OAUTH: t.Final = OAuthStrategy()
"""The strategy of a provider that the application has no strategy for."""


def result_of(
    service: AuthenticationService, login: OAuthLogin, query: Record
) -> Record:
    """Return the result of the call that logs a user in.

    :param query: The query of the call.
    :raises Conflict: The email, or the profile, belongs to another user.
    """

    def call() -> Record:
        data = {"strategy": login.provider.name}
        params = Params(query=dict(query), extra={LOGIN: login})

        # Nobody would commit after a view of OAuth what the session holds.
        with Transaction(is_final=True):
            return t.cast("Record", service.as_service.create(data, params))

    try:
        return call()
    except Conflict:
        # The first login of a profile may run twice at once.
        try:
            return call()
        except Conflict as error:
            raise _explained(service, login, error) from error


def _explained(
    service: AuthenticationService, login: OAuthLogin, error: Conflict
) -> Conflict:
    title = login.provider.title

    if service.username in error.errors:
        return Conflict(
            "There is a user with this email already. Log in as this user, then"
            f" connect {title}."
        )

    if login.provider.id_field in error.errors:
        return Conflict(f"This {title} login belongs to another user.")

    return error
