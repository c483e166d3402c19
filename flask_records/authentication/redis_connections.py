"""Connections to Redis that wait for a bounded time."""

from __future__ import annotations

import typing as t

UNBOUNDED: t.Final = ("retry_on_error", "retry_on_timeout")
"""The options that repeat what took too long."""

MAX_CONNECTIONS: t.Final = 100
"""The number of connections of a worker. More calls at once wait for one."""


def bounded_options(timeout: float) -> dict[str, t.Any]:
    """Return the options of connections that wait at most some seconds for an answer,
    and as long for a connection. Commands are sent again to a Redis that has closed
    the connection, but not to one that does not answer, as redis-py does by default.
    """
    from redis import ConnectionError
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    return {
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
        "retry": Retry(NoBackoff(), 1, (ConnectionError,)),
    }


def bounded_client(client: t.Any, timeout: float) -> t.Any:
    """Return a client of the same Redis with connections of its own, which wait at most
    some seconds. A client of a cluster or a sentinel is returned as it is.
    """
    import redis

    pool: t.Any = getattr(client, "connection_pool", None)

    if type(pool) not in (redis.ConnectionPool, redis.BlockingConnectionPool):
        return client

    options = {k: v for k, v in pool.connection_kwargs.items() if k not in UNBOUNDED}
    options |= bounded_options(timeout)

    # Connections to a socket file take no such option in all versions.
    if issubclass(pool.connection_class, redis.UnixDomainSocketConnection):
        del options["socket_connect_timeout"]

    return redis.Redis(
        connection_pool=redis.BlockingConnectionPool(  # type: ignore[no-untyped-call]  # it has no hints
            max_connections=min(pool.max_connections, MAX_CONNECTIONS),
            timeout=timeout,
            connection_class=pool.connection_class,
            **options,
        )
    )
