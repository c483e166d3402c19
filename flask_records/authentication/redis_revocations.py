"""Revoked tokens in Redis."""

from __future__ import annotations

import time
import typing as t

from ..errors import Unavailable
from .redis_connections import bounded_client

PUT: t.Final = """\
local mark, seconds = ARGV[1], tonumber(ARGV[2])
local stored = redis.call("get", KEYS[1])
if stored and tonumber(stored) > tonumber(mark) then
    mark = stored
end
redis.call("set", KEYS[1], mark, "EX", math.max(redis.call("ttl", KEYS[1]), seconds))
"""
"""Stores a mark. The highest one and the latest expiry stay, whoever comes last."""


class RedisRevocations:
    """Stores marks in Redis, for several machines.

    :param client: A ``redis.Redis``. Marks have connections of their own to the same
        Redis, but for a client of a cluster or a sentinel.
    :param prefix: The prefix of the keys.
    :param timeout: The seconds that a command waits for Redis, whatever the client
        says. A call with a token is 503 then.
    """

    def __init__(
        self,
        client: t.Any,
        *,
        prefix: str = "records:revoked:",
        timeout: float = 2,
    ) -> None:
        self._client = bounded_client(client, timeout)
        self._prefix = prefix

    def put(self, key: str, issued_before: int, expires: int) -> None:
        """Store a mark until it expires.

        :raises Unavailable: Redis does not answer.
        """
        seconds = max(expires - int(time.time()), 1)
        self._run("eval", PUT, 1, self._prefix + key, issued_before, seconds)

    def latest(self, *keys: str) -> int:
        """Return the highest mark of some keys, or 0.

        :raises Unavailable: Redis does not answer.
        """
        marks = self._run("mget", [self._prefix + key for key in keys])
        return max(int(mark or 0) for mark in marks)

    def _run(self, command: str, *args: t.Any) -> t.Any:
        from redis import RedisError

        try:
            return getattr(self._client, command)(*args)
        except RedisError as error:
            # The token may be revoked.
            raise Unavailable("Logins can't be checked at the moment.") from error
