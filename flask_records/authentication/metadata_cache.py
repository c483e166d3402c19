"""The metadata of a provider, read again when it may have changed."""

from __future__ import annotations

import logging
import threading
import time
import typing as t

from .oauth_errors import describe
from .oauth_errors import PROVIDER_ERRORS
from .provider_metadata import read_metadata

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from .provider_metadata import ProviderMetadata
    from .providers import Provider

INTERVAL: t.Final = 60
"""The number of seconds between two readings."""

STALE_WAIT: t.Final = 2
"""The number of seconds that a login waits for newer metadata than that it has."""

FAILURE_WAIT: t.Final = 5
"""The number of seconds that a login waits which failed with the metadata it has."""

logger = logging.getLogger(__package__)


class MetadataCache:
    """Keeps the metadata of a provider, and reads it again by age, or after a login has
    failed with it: at most once in :data:`INTERVAL`, in a thread of its own. If that
    fails, the older metadata stays in use.

    :param provider: The provider.
    :param max_age: The number of seconds after which it is read again.
    :param clock: Returns the time in seconds.
    """

    def __init__(
        self,
        provider: Provider,
        max_age: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._provider = provider
        self._max_age = max_age
        self._clock = clock
        self._lock = threading.Lock()
        self._metadata: ProviderMetadata | None = None
        self._read_at = 0.0
        self._began_at: float | None = None
        self._ended = threading.Event()

        # Without a configuration there is nothing to read.
        if provider.discovery_url is None:
            self._metadata = read_metadata(provider)

    @property
    def is_known(self) -> bool:
        """``True`` if there is metadata, be it old."""
        return self._metadata is not None

    def current(self) -> ProviderMetadata:
        """Return the metadata. It is requested, by each caller, until it is known.

        :raises Exception: The provider does not respond, or its response is invalid.
        """
        metadata = self._metadata

        if metadata is None:
            metadata = read_metadata(self._provider)
            self._store(metadata)

        is_old = self._clock() - self._read_at > self._max_age
        return self._newer(metadata, STALE_WAIT) if is_old else metadata

    def newer(self, metadata: ProviderMetadata) -> ProviderMetadata:
        """Return the metadata that the provider has now, after a login has failed with
        older one. It may be the same.
        """
        return self._newer(metadata, FAILURE_WAIT)

    def _newer(self, metadata: ProviderMetadata, wait: float) -> ProviderMetadata:
        if metadata.discovery_url is None:
            return metadata

        with self._lock:
            if self._metadata != metadata:
                return t.cast("ProviderMetadata", self._metadata)

            now, began_at = self._clock(), self._began_at

            if began_at is None or now - began_at >= INTERVAL:
                self._began_at = now
                self._ended = threading.Event()
                threading.Thread(
                    target=self._read, args=[self._ended], daemon=True
                ).start()

            ended = self._ended

        ended.wait(wait)
        return self._metadata

    def _read(self, ended: threading.Event) -> None:
        try:
            self._store(read_metadata(self._provider))
        except PROVIDER_ERRORS as error:
            logger.warning(
                "The configuration of %s can't be read again: %s. The one that was"
                " read %d seconds ago stays in use.",
                self._provider.name,
                describe(error),
                self._clock() - self._read_at,
            )
        finally:
            ended.set()

    def _store(self, metadata: ProviderMetadata) -> None:
        with self._lock:
            self._metadata, self._read_at = metadata, self._clock()
