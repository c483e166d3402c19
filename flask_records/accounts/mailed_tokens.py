"""Tokens that are sent by mail, and used once."""

from __future__ import annotations

import logging
import os
import secrets
import time
import typing as t
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from dataclasses import dataclass, field
from functools import cache

from flask import current_app, has_request_context

from ..authentication.token_table import digest_of, fingerprint
from ..authentication.users import is_address
from ..database.transaction import Transaction
from ..errors import BadRequest, NotFound, RecordsError, without_parameters

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Flask

    from ..authentication import AuthenticationService, TableTokens
    from ..typing import Record

logger = logging.getLogger(__package__)

VERIFY: t.Final = "verify"
"""The kind of tokens that confirm an address."""

RESET: t.Final = "reset"
"""The kind of tokens that set a new password."""

LIFETIMES: t.Final = {VERIFY: 5 * 24 * 60 * 60, RESET: 2 * 60 * 60}
"""The seconds that tokens are valid, by kind."""

ID_LENGTH: t.Final = 32
"""The number of characters of a digest that identify a token."""

MAX_THREADS: t.Final = 4
"""The number of threads of a process that send mails."""

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

    :param send: Sends a mail.
    """

    def __init__(
        self,
        authentication: AuthenticationService,
        table: TableTokens,
        send: Callable[[Mail], t.Any],
    ) -> None:
        self._authentication = authentication
        self._users = authentication.lookup
        self._table = table
        self._send = send

    def issue(self, kind: str, mail: str, user: Record, address: str) -> None:
        """Send a token to an address of a user.

        :param kind: The kind of the token.
        :param mail: The kind of the mail.
        """
        id, now = user[self._users.id], int(time.time())

        if not is_address(address):
            logger.warning("User %r has no address for mails.", id)
            return

        token = secrets.token_urlsafe(32)
        digest = digest_of(token)
        record = {
            "id": digest[:ID_LENGTH],
            "kind": kind,
            "owner": str(id),
            "digest": digest,
            "state": self._state(kind, user),
            "issued": now,
            "expires": now + LIFETIMES[kind],
            "address": address,
        }

        with Transaction():
            # Hooks refuse a user who is blocked.
            public_user = self._authentication.get_user(id)
            self._table.add(record)

        self._send(Mail(mail, address, public_user, token))

    def notify(self, user: Record) -> None:
        """Tell a user that the password or the address was changed.

        :param user: The record with the address from before.
        """
        address = user[self._authentication.username]

        if address and is_address(address):
            public_user = self._authentication.get_user(user[self._users.id])
            self._send(Mail("changed", address, public_user))

    def take(self, kind: str, token: t.Any) -> tuple[Record, Record]:
        """Return a token as it is stored, and its user. It is used then, unless the
        call fails.

        :raises BadRequest: It is not valid, or was used meanwhile.
        """
        digest = digest_of(token) if isinstance(token, str) else ""
        record = self._table.get(digest[:ID_LENGTH], kind)

        if record is None:
            raise invalid_token()

        try:
            user = self._users.service._get(record["owner"])
        except NotFound as error:
            raise invalid_token() from error

        is_new = record["state"] == self._state(kind, user)

        if not is_new or not self._table.remove(record["id"]):
            raise invalid_token()

        return record, user

    def _state(self, kind: str, user: Record) -> str:
        """Return a fingerprint of what a token depends on."""
        hash = user.get(self._authentication.password)
        address = user.get(self._authentication.username)
        return fingerprint(kind, self._users.path, hash, address)


def send_later(mail: Callable[[], None]) -> None:
    """Send a mail after the commit: at once in jobs and commands, and in another thread
    for clients. A process that ends waits.
    """
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]  # a proxy has it
    has_client = has_request_context()

    def send() -> None:
        # Otherwise the time of the answer would depend on what is done here.
        if has_client:
            time.sleep(DELAY)

        try:
            with app.app_context():
                mail()
        except Exception as error:
            # The user may be gone, or blocked.
            if not isinstance(error, RecordsError) or (error.code or 500) >= 500:
                without_parameters(error)
                logger.exception("A mail could not be sent.")

    def submit() -> None:
        # Nothing of the call that has ended is in progress there.
        context = Context()

        # Workers of RQ end after each job without a word to threads.
        if not has_client:
            context.run(send)
            return

        try:
            mail_threads().submit(context.run, send)
        except RuntimeError:
            # The process is about to end.
            context.run(send)

    Transaction.after_commit(submit)


@cache
def mail_threads() -> ThreadPoolExecutor:
    """Return the threads that send mails."""
    return ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="records-mails")


# A forked process has no threads of its parent.
os.register_at_fork(after_in_child=mail_threads.cache_clear)


def invalid_token() -> BadRequest:
    """Return the error for a token that is not valid."""
    return BadRequest(INVALID, errors={"$className": "invalidToken"})
