"""The calls that are made again after they have failed."""

from __future__ import annotations

import random
import typing as t
from dataclasses import dataclass
from datetime import datetime
from datetime import UTC
from email.utils import parsedate_to_datetime

import httpx

from .calls import Call

Answer: t.TypeAlias = "httpx.Response | httpx.TransportError"
"""The answer to a request, or the reason that there is none."""

NOT_SENT: t.Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
"""The errors before a request is sent."""

REFUSED: t.Final = 429
"""The status of calls of which nothing is done."""

OUTAGES: t.Final = frozenset({502, 503, 504})
"""The statuses of calls that may be done or not."""


@dataclass(frozen=True)
class Retries:
    """How often a call is made again, and when: if it has not arrived, if it was
    refused until a later time, or if it may be made twice.

    :param times: How often at most.
    :param seconds: How long a call waits between its requests, in total.
    """

    times: int = 4
    seconds: float = 30

    def pause(
        self, call: Call[t.Any], answer: Answer, done: int, waited: float
    ) -> float | None:
        """Return the seconds until the call may be made again, or ``None`` if its
        answer counts.

        :param done: How often it was made again.
        :param waited: The seconds that it has waited.
        """
        if done >= self.times or not _may_repeat(call, answer):
            return None

        # Clients that were refused together do not come back together.
        pause = random.uniform(0.1, 0.2) * 4**done
        later = None if isinstance(answer, Exception) else _retry_after(answer)
        pause = pause if later is None else later
        return pause if waited + pause <= self.seconds else None


def _may_repeat(call: Call[t.Any], answer: Answer) -> bool:
    if isinstance(answer, Exception):
        return call.is_safe or isinstance(answer, NOT_SENT)

    if answer.status_code == REFUSED:
        return call.is_safe or _retry_after(answer) is not None

    return call.is_safe and answer.status_code in OUTAGES


def _retry_after(answer: httpx.Response) -> float | None:
    """Return the seconds that a server asks for: a number, or a date."""
    text = answer.headers.get("Retry-After", "")

    if text.isdecimal():
        return float(text)

    try:
        date: datetime = parsedate_to_datetime(text)
    except ValueError:
        return None

    # Dates of "-0000" have no zone.
    date = date.replace(tzinfo=date.tzinfo or UTC)
    return max(0, (date - datetime.now(UTC)).total_seconds())
