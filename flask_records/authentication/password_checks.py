"""Checks of the users and their passwords when an application starts."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa

from ..names import BODIES
from .hooks import HashPassword
from .strategies import JWT, LOCAL
from .users import fields_of

if t.TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from flask import Flask

    from ..query import Fields
    from ..service import Service
    from .records import AuthenticationRecords
    from .service import AuthenticationService
    from .settings import AuthenticationSettings

VISIBLE: t.Final = """\
Clients of '{path}' can see the password hashes. Hide them:

    SQLAlchemyService({model}, hidden=["{field}"])
"""

NOT_HASHED: t.Final = """\
Passwords that clients of '{path}' send are not hashed. Connect the hook before \
'init_app', or say that the application hashes them, in updates too, with \
AuthenticationService(custom_hashing=True):

    {service}.before("create", "update", "patch")(hash_password("{field}"))
"""

NO_HASH: t.Final = """\
'{field}' of '{path}' takes no hashes of passwords, which are texts of {length} \
characters. Make the column a String(255), or say that the application hashes them, \
with AuthenticationService(custom_hashing=True).\
"""

NO_USERS: t.Final = """\
The service '{path}' needs tokens, and there is no service '{users}' with the users. \
Add it, or name the strategies that the service accepts: \
records.add("{path}", ..., strategies=[...]).\
"""

UNRULED: t.Final = """\
Any login may {methods} all users of '{path}'. Give it rules, or True in their place:

    own = {{"{id}": FromUser("{id}")}}
    records.add("{path}", ..., allow=dict.fromkeys({names}, own))
"""

OPEN: t.Final = """\
Any login may change or remove all records of %s. Give them rules, 'readable' or \
'allow', or FlaskRecords default ones, or True in their place: allow={"patch": True}.\
"""

CHANGES: t.Final = ("update", "patch", "remove")


def warn_of_open_services(records: AuthenticationRecords, app: Flask) -> None:
    """Log a warning that names the services over models that any login may write, if
    there are logins and no default rules.
    """
    if not records.authentications or records.default_rules:
        return

    paths = [
        f"'{service.path}'"
        for service in records.services.values()
        if service.capabilities.model is not None and _open_methods(service)
    ]

    if paths:
        app.logger.warning(OPEN, ", ".join(paths))


def _open_methods(service: Service) -> list[str]:
    """Return the methods that change records and have no rule."""
    rules = service.rules
    names = [name for name in CHANGES if name in service.methods]
    return [n for n in names if rules.readable is None and n not in rules.allow]


def check_users(records: AuthenticationRecords, apps: Collection[Flask]) -> None:
    """Check the users of all authentication services, and let their names be written in
    the form that logins look up.

    :raises RuntimeError: A check fails. The message has the lines to write.
    """
    for authentication in records.authentications.values():
        authentication.lookup.normalize_writes()

        for app in apps:
            _check_users(records, authentication, authentication.settings_of(app))

        if not authentication.lookup.is_there:
            _check_strategies(records, authentication)


def _check_strategies(
    records: AuthenticationRecords, authentication: AuthenticationService
) -> None:
    """Refuse services that need tokens, which are for users."""
    for path, access in records.accesses.items():
        service = records.services[path]
        is_asked = access.find_service() is authentication
        is_closed = not service.public.issuperset(service.methods)

        if not is_asked or not is_closed or path in records.authentications:
            continue

        # Keys of users end as tokens do.
        strategies = [authentication.strategies.get(name) for name in access.strategies]

        if JWT in strategies or service.capabilities.is_personal:
            users = authentication.users_path
            raise RuntimeError(NO_USERS.format(path=path, users=users))


def _check_users(
    records: AuthenticationRecords,
    authentication: AuthenticationService,
    settings: AuthenticationSettings,
) -> None:
    """Check that there are users with the fields of logins, and that no service over
    them shows password hashes or stores plain passwords.
    """
    used = [authentication.strategies.get(name) for name in settings.strategies]
    is_local, providers = LOCAL in used, settings.oauth.providers.values()

    # Strategies of an application may need no users.
    if not (authentication.lookup.is_there or JWT in used or is_local or providers):
        return

    fields, path = fields_of(authentication.users), authentication.users_path

    if fields is None:
        return

    for provider in providers:
        name = provider.id_field

        if name not in fields.names or not fields.is_unique(name):
            raise RuntimeError(
                f"{settings.name}['oauth'][{provider.name!r}] needs a field '{name}' of"
                f" '{path}': text that is unique and can be null."
            )

    for option in ("username", "password") if is_local else ():
        name = getattr(authentication, option)

        if name not in fields.names:
            raise RuntimeError(
                f"AuthenticationService({option}={name!r}) names no field of '{path}'."
                " Name another one, or leave 'local' out of"
                f" {settings.name}['strategies'] if nobody logs in with a password."
            )

    for service in records.services.values():
        length = settings.passwords.hash_length
        problems = "\n".join(_problems(records, authentication, service, length))

        if problems:
            raise RuntimeError(problems)


def _problems(
    records: AuthenticationRecords,
    authentication: AuthenticationService,
    service: Service,
    length: int,
) -> Iterator[str]:
    field, clients = authentication.password, service.capabilities.scope_for(None)

    if clients is None or not authentication.lookup.has(service):
        return

    path, model = service.path, clients.fields.model.__name__

    if names := _open_methods(service):
        methods, id = ", ".join(names), authentication.lookup.id
        yield UNRULED.format(methods=methods, path=path, names=names, id=id)

    if field in clients.names:
        yield VISIBLE.format(path=path, model=model, field=field)

    writes = [method for method in BODIES if method in service.methods]

    if not writes or field not in clients.writable or authentication.custom_hashing:
        return

    if not _takes_text(clients.fields, field, length):
        yield NO_HASH.format(length=length, field=field, path=path)

    for method in writes:
        hooks = [*records.before.order(method), *service.before.order(method)]

        if not any(isinstance(h, HashPassword) and field in h.fields for h in hooks):
            name = path if path.isidentifier() else f'records["{path}"]'
            yield NOT_HASHED.format(path=path, service=name, field=field)
            return


def _takes_text(fields: Fields, name: str, length: int) -> bool:
    """Return whether a column takes texts of a length, as far as that is known."""
    column = fields.mapper.columns.get(name)
    type_ = None if column is None else column.type
    is_short = isinstance(type_, sa.String) and (type_.length or length) < length
    return not (is_short or isinstance(type_, sa.LargeBinary))
