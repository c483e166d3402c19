"""The brokers that can be named by a URL."""

from __future__ import annotations

import typing as t
from importlib import import_module

if t.TYPE_CHECKING:
    from .broker import Broker


class Kind(t.NamedTuple):
    """A kind of broker."""

    module: str
    """The module of its class, beside this one."""

    name: str
    """The name of the class, whose arguments are a URL and a channel."""

    install: str
    """The names of what ``pip`` has to install."""


REDIS: t.Final = Kind("redis", "RedisBroker", "flask-record-services[redis]")
POSTGRESQL: t.Final = Kind(
    "postgresql", "PostgreSQLBroker", "flask-record-services[postgresql]"
)
NATS: t.Final = Kind("nats", "NATSBroker", "flask-record-services[nats]")

KINDS: dict[str, Kind] = {
    "redis": REDIS,
    "rediss": REDIS,
    "unix": REDIS,
    "postgresql": POSTGRESQL,
    "nats": NATS,
    "tls": NATS,
}
"""The kinds of brokers by the scheme of a URL, without the name of a driver."""


def make_broker(url: str, channel: str, **bounds: int) -> Broker:
    """Return the broker that a URL names.

    :param channel: The prefix of all names there.
    :param bounds: The bounds of its log: ``max_age`` in seconds, and ``max_entries``.
    :raises RuntimeError: There is no such broker, the URL is invalid, or a package is
        missing.
    """
    scheme = url.partition(":")[0].partition("+")[0]
    kind = KINDS.get(scheme)

    if kind is None:
        raise RuntimeError(
            "RECORDS_REALTIME['message_queue'] must be a URL that begins with"
            f" {', '.join(f'{name}://' for name in KINDS)}."
        )

    try:
        module = import_module(f".{kind.module}", __package__)
        return t.cast("Broker", getattr(module, kind.name)(url, channel, **bounds))
    except ImportError as error:
        raise RuntimeError(
            f"RECORDS_REALTIME['message_queue'] needs: pip install '{kind.install}'."
        ) from error
    except ValueError as error:
        raise RuntimeError(
            f"RECORDS_REALTIME['message_queue'] is not a valid URL: {error}"
        ) from error
