"""Tokens that are sent by mail, and used once."""

from __future__ import annotations

import hmac
import logging
import secrets
import time
import typing as t
from dataclasses import dataclass, field
from functools import partial

from ..authentication.token_table import digest_of, fingerprint, StoredToken
from ..authentication.users import is_address
from ..database.transaction import Transaction
from ..errors import BadRequest, NotFound, RecordsError, without_parameters
from ..service.events import run_in_background

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..authentication import AuthenticationService, TableTokens
    from ..typing import Record

logger = logging.getLogger(__package__)

VERIFY: t.Final = "verify"
"""The kind of tokens that confirm an address."""

RESET: t.Final = "reset"
"""The kind of tokens that set a new password."""

ID_LENGTH: t.Final = 32
"""The number of characters of a digest that identify a token."""

DELAY: t.Final = 0.05
"""The seconds that a mail waits until its call is answered."""

INVALID: t.Final = "The token is not valid. Ask for a new one."


@dataclass(frozen=True)
class Mail:
    """A mail that an application has to send."""

    kind: str
    """``"verify"`` to confirm the address of a user, ``"change"`` to confirm a new
    one, ``"reset"`` to set a new password, or ``"changed"``, without a token, after a
    change of the password, or of the address if the user has another one by now.
    """

    address: str
    """The address to send it to."""

    user: Record = field(repr=False)
    """The user, as clients see it."""

    token: str | None = field(default=None, repr=False)
    """The token, as a part of a link."""


def print_mail(mail: Mail) -> None:
    """Print a mail, in place of sending it."""
    text = f"Mail to {mail.address}: {mail.kind} {mail.token or ''}\n"
    # Threads that print the end apart would mix their lines.
    print(text, end="", flush=True)


class MailedTokens:
    """Sends tokens to users, and finds the users of tokens. A token ends if the
    password or the address of its user changes.

    :param authentication: The service that logs the users in.
    :param table: Stores the tokens.
    :param send: Sends a mail.
    :param lifetimes: The seconds that tokens are valid, by kind.
    """

    def __init__(
        self,
        authentication: AuthenticationService,
        table: TableTokens,
        send: Callable[[Mail], t.Any],
        lifetimes: Mapping[str, int],
    ) -> None:
        self._authentication = authentication
        self._users = authentication.lookup
        self._table = table
        self._send = send
        self._lifetimes = lifetimes

    def issue(self, kind: str, mail: str, user: Record, address: str) -> None:
        """Send a token to an address of a user.

        :param kind: The kind of the token.
        :param mail: The kind of the mail.
        """
        if not is_address(address):
            logger.warning("User %r has no address for mails.", user[self._users.id])
            return

        with Transaction():
            # Hooks refuse a user who is blocked.
            shown = self._authentication.get_user(user[self._users.id])
            token = self._create(kind, user, address)

        self._send(Mail(mail, address, shown, token))

    def _create(self, kind: str, user: Record, address: str) -> str:
        token, now = secrets.token_urlsafe(32), int(time.time())
        digest = digest_of(token)
        self._table.add(
            StoredToken(
                id=digest[:ID_LENGTH],
                kind=kind,
                owner=str(user[self._users.id]),
                digest=digest,
                state=self._state(kind, user),
                issued=now,
                expires=now + self._lifetimes[kind],
                address=address,
            )
        )
        return token

    def notify(self, user: Record) -> None:
        """Tell a user that the password or the address was changed.

        :param user: The record with the address from before.
        """
        address = user[self._authentication.username]

        if address and is_address(address):
            shown = self._authentication.get_user(user[self._users.id])
            self._send(Mail("changed", address, shown))

    def find(self, kind: str, token: t.Any) -> tuple[StoredToken, Record]:
        """Return a token as it is stored, and its user.

        :raises BadRequest: It is not valid.
        """
        digest = digest_of(token) if isinstance(token, str) else ""
        stored = self._table.get(digest[:ID_LENGTH], kind)

        if stored is None or not hmac.compare_digest(stored.digest, digest):
            raise invalid_token()

        try:
            user = self._users.service._get(stored.owner)
        except NotFound as error:
            raise invalid_token() from error

        if stored.state != self._state(kind, user):
            raise invalid_token()

        return stored, user

    def use(self, stored: StoredToken) -> None:
        """Remove a token, so that it is used once.

        :raises BadRequest: It was used meanwhile.
        """
        if not self._table.remove(stored.id):
            raise invalid_token()

    def _state(self, kind: str, user: Record) -> str:
        """Return a fingerprint of what a token depends on."""
        hash = user.get(self._authentication.password)
        address = user.get(self._authentication.username)
        return fingerprint(kind, self._users.path, hash, address)


def send_later(mail: Callable[[], None]) -> None:
    """Send a mail in the background, after the commit."""

    def send() -> None:
        # Otherwise the time of the answer would depend on what is done here.
        time.sleep(DELAY)

        try:
            mail()
        except Exception as error:
            # The user may be gone, or blocked.
            if not isinstance(error, RecordsError) or (error.code or 500) >= 500:
                without_parameters(error)
                logger.exception("A mail could not be sent.")

    Transaction.after_commit(partial(run_in_background, send))


def invalid_token() -> BadRequest:
    """Return the error for a token that is not valid."""
    return BadRequest(INVALID, errors={"$className": "invalidToken"})
