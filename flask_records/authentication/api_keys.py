"""API keys, by which programs call services in the place of a user."""

from __future__ import annotations

import secrets
import time
import typing as t

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from ..adapter import SQLAlchemyService
from ..database.joined_session import session_of_app
from ..errors import BadRequest, Forbidden, MethodNotAllowed, NotAuthenticated
from ..problems import NO_SCOPES, OUT_OF_RANGE
from ..service import Service
from ..service.context import Params
from ..service.events import Transports
from ..service.globals import call_stack
from ..signals import CallSignals
from .records import current_records
from .strategies import Strategy
from .token_table import digest_of
from .tokens import MAX_TIME

if t.TYPE_CHECKING:
    from werkzeug.datastructures import Headers

    from ..database.joined_session import SessionSource
    from ..typing import Record
    from .service import AuthenticationService

HEADER: t.Final = "X-Api-Key"

PREFIX: t.Final = 8
"""The number of characters of a key that are stored, to recognize keys."""

USE: t.Final = 60
"""The seconds within which the last use of a key is written once."""

MAX_EXPIRES: t.Final = 10**11
"""The first time that is in milliseconds, in 1973: a key would never end."""

READ_ONLY: t.Final = ("prefix", "digest", "proof", "issued", "used")
"""The fields of a key that no client writes."""


class ApiKeyMixin:
    """The columns of a model for :class:`ApiKeys`, besides the one with the user. Times
    are in seconds since 1970.
    """

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str | None] = mapped_column(sa.String(100))
    prefix: Mapped[str] = mapped_column(sa.String(PREFIX))
    digest: Mapped[str] = mapped_column(sa.String(64), unique=True)
    proof: Mapped[str] = mapped_column(sa.String(36))
    scopes: Mapped[t.Any] = mapped_column(sa.JSON(none_as_null=True), nullable=True)
    issued: Mapped[int] = mapped_column(sa.BigInteger)
    used: Mapped[int | None] = mapped_column(sa.BigInteger)
    expires: Mapped[int | None] = mapped_column(sa.BigInteger)


class ApiKeys(SQLAlchemyService):
    """The service with the API keys of users, and the strategy that accepts them. The
    answer to a create has the text of the key as ``key``; nothing stores it, and the
    service sends no events.

    :param model: A model with the columns of :class:`ApiKeyMixin`.
    :param user: The field with the identifier of the user, who is the caller.
    :param session: The source of sessions, as for :class:`.SQLAlchemyService`.
    """

    sends_events = False
    is_personal = True

    def __init__(
        self,
        model: type[t.Any],
        user: str = "userId",
        *,
        session: SessionSource = session_of_app,
    ) -> None:
        super().__init__(
            model,
            session=session,
            hidden=["digest", "proof"],
            readonly=[*READ_ONLY, user],
            write_once=["scopes", "expires"],
            extra_fields={"key": str},
        )
        self._user = user
        records = SQLAlchemyService(model, session=session, multi=["patch"])
        # The service has no path in an application: only this class calls it.
        self._records = Service("keys", records, CallSignals(), Transports())
        scheme = {"type": "apiKey", "in": "header", "name": HEADER}
        self.strategy = Strategy(self._authenticate, _parse, scheme)
        """The strategy that accepts the keys, in the header ``X-Api-Key``."""

    def create(self, data: t.Any, params: Params) -> Record:
        """Return a new key of the caller, or in Python of the user that the data names.

        :raises BadRequest: The scopes are not services and methods, or the end is not
            in seconds.
        :raises Forbidden: The caller is a key, or no user.
        """
        if not isinstance(data, dict):
            raise MethodNotAllowed("Can not create multiple entries")

        _check_scopes(data.get("scopes"))
        is_client = params.provider is not None
        user = params.user_id if is_client else data.get(self._user)

        if user is None or "scopes" in (params.authentication or {}):
            raise Forbidden("Only a user who has logged in makes keys.")

        authentication = params.authenticator or current_records.authentication()
        # A key ends as a token would that was issued now.
        _, claims = authentication.create_token({authentication.id: user})
        key = secrets.token_urlsafe(32)
        values = (key[:PREFIX], digest_of(key), claims["jti"], claims["iat"], None)
        body = {**data, **dict(zip(READ_ONLY, values, strict=True)), self._user: user}
        record = t.cast("Record", super().create(body, params))

        if (record["expires"] or 0) >= MAX_EXPIRES:
            problem = "'expires' is out of range: it is in seconds since 1970."
            raise BadRequest(problem, errors={"expires": OUT_OF_RANGE})

        answer, call = {**record, "key": key}, call_stack.get()

        # Hooks, and what they write down, get the record without the key.
        if is_client and call is not None and call.params is params:
            call.dispatch = answer

        return record if is_client else answer

    def _authenticate(
        self, service: AuthenticationService, data: Record, params: Params
    ) -> Record:
        query = {"digest": digest_of(str(data.get("apiKey")))}
        keys = t.cast("list[Record]", self._records._find(Params(query=query)))

        if not keys:
            raise NotAuthenticated("Invalid API key")

        [key] = keys
        expires = MAX_TIME if key["expires"] is None else key["expires"]
        claims = {"sub": key[self._user], "iat": key["issued"], "exp": expires}

        try:
            user = service.tokens.user_of({**claims, "jti": key["proof"]})
        except NotAuthenticated as error:
            raise NotAuthenticated("Invalid API key") from error

        self._note_use(key)
        login = {"keyId": key["id"], "scopes": key["scopes"]}
        return {"user": user, "authentication": login}

    def _note_use(self, key: Record) -> None:
        now = int(time.time())

        if (key["used"] or 0) <= now - USE:
            # Of several calls at once, one writes.
            query = {"id": key["id"], "used": key["used"]}
            self._records._patch(None, {"used": now}, Params(query=query))


def _parse(headers: Headers) -> Record | None:
    key = headers.get(HEADER)
    return {"apiKey": key} if key else None


def _check_scopes(scopes: t.Any) -> None:
    services = current_records.services
    names = [*services]
    names += [f"{path}.{name}" for path in services for name in services[path].methods]
    # An empty list is not the same as all that the user may do.
    is_list = isinstance(scopes, list) and bool(scopes)

    if scopes is not None and not (is_list and all(each in names for each in scopes)):
        raise BadRequest("The scopes are not right.", errors={"scopes": NO_SCOPES})
