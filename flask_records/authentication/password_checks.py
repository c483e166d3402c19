"""Checks of the users and their passwords when an application starts."""

from __future__ import annotations

import typing as t

from .hooks import HashPassword, Protect
from .strategies import JWT, LOCAL
from .users import fields_of, share_model

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from flask import Flask

    from ..extension import FlaskRecords
    from ..service import Service
    from ..signals import OrderedSignal
    from .service import AuthenticationService
    from .settings import Settings

VISIBLE: t.Final = """\
Clients of '{path}' can see the password hashes. Hide them:

    SQLAlchemyService({model}, hidden=["{field}"])
"""

NOT_HASHED: t.Final = """\
Passwords that clients of '{path}' send are not hashed. Connect the hook before \
'init_app', or say that the application hashes them, with \
AuthenticationService(custom_hashing=True):

    {service}.before("create", "update", "patch")(hash_password("{field}"))
"""


PROVIDER_METHODS: t.Final = ("find", "get", "create", "patch")
"""The methods of users that a login at an OAuth provider calls."""

NO_METHOD: t.Final = """\
{setting}['oauth'] needs the method '{method}' of '{path}'. Leave it in 'methods', and \
refuse clients in a hook: params.provider is None for the calls of logins.\
"""


def check_provider_users(settings: Settings, users: Service) -> None:
    """Check that users have the methods and the fields that OAuth providers need.

    :raises RuntimeError: A method or a field is missing, or a field is not unique.
    """
    fields = fields_of(users)

    if fields is None or not settings.oauth.providers:
        return

    for method in PROVIDER_METHODS:
        if method not in users.methods:
            text = NO_METHOD.format(
                setting=settings.name, method=method, path=users.path
            )
            raise RuntimeError(text)

    for provider in settings.oauth.providers.values():
        name = provider.id_field

        if name not in fields.names or not fields.is_unique(name):
            raise RuntimeError(
                f"{settings.name}['oauth'][{provider.name!r}] needs a field '{name}' of"
                f" '{users.path}': text that is unique and can be null."
            )


def check_passwords(
    records: FlaskRecords, app: Flask, authentication: AuthenticationService
) -> None:
    """Check that there are users with the fields of a login, and that no service over
    them shows password hashes or stores plain passwords.

    :raises RuntimeError: A check fails. The message has the lines to write.
    """
    users = records.services.get(authentication.users_path)

    if users is None:
        if _needs_users(authentication, authentication.settings_of(app)):
            raise authentication.lookup.missing()

        return

    _check_names(app, authentication, users)

    for service in records.services.values():
        problems = "\n".join(_problems(records, authentication, users, service))

        if problems:
            raise RuntimeError(problems)


def _needs_users(authentication: AuthenticationService, settings: Settings) -> bool:
    strategies = map(authentication.strategies.get, settings.strategies)
    is_own = any(strategy in (JWT, LOCAL) for strategy in strategies)
    return is_own or bool(settings.oauth.providers)


def _check_names(
    app: Flask, authentication: AuthenticationService, users: Service
) -> None:
    fields = fields_of(users)
    settings = authentication.settings_of(app)
    is_local = authentication.strategies["local"] is LOCAL

    if fields is None or not is_local or "local" not in settings.strategies:
        return

    for option in ("username", "password"):
        name = getattr(authentication, option)

        if name not in fields.names:
            raise RuntimeError(
                f"AuthenticationService({option}={name!r}) names no field of"
                f" '{users.path}'. Name another one, or leave 'local' out of"
                f" {settings.name}['strategies'] if nobody logs in with a password."
            )


def _problems(
    records: FlaskRecords,
    authentication: AuthenticationService,
    users: Service,
    service: Service,
) -> Iterator[str]:
    field, fields = authentication.password, fields_of(service)

    if fields is None or field not in fields.names:
        return

    if service is not users and not share_model(service, users):
        return

    path, model = service.path, fields.model.__name__
    name = path if path.isidentifier() else f'records["{path}"]'
    clients = service.capabilities.client_fields or fields
    after = (records.after, service.after)

    if field in clients.names and not _have_hooks(
        after, Protect, field, service.methods
    ):
        yield VISIBLE.format(path=path, model=model, field=field)

    writes = {"create", "update", "patch"}.intersection(service.methods)
    before = (records.before, service.before)
    is_written = not authentication.custom_hashing and clients.body.is_sent(field)

    if is_written and not _have_hooks(before, HashPassword, field, writes):
        yield NOT_HASHED.format(path=path, service=name, field=field)


def _have_hooks(
    signals: tuple[OrderedSignal, ...],
    kind: type[HashPassword] | type[Protect],
    field: str,
    methods: t.Iterable[str],
) -> bool:
    """Return whether each of some methods has a hook of a kind for a field."""
    return all(
        any(
            isinstance(hook, kind) and field in hook.fields
            for signal in signals
            for hook in signal.ordered(method)
        )
        for method in methods
    )
