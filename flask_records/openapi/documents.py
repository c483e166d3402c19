"""Documents, made once for all callers with the same rights."""

from __future__ import annotations

import hashlib
import typing as t
from dataclasses import dataclass
from dataclasses import replace
from threading import Lock

from werkzeug.http import generate_etag
from werkzeug.http import quote_etag

from ..context import Params
from ..http.blueprint import PROVIDER
from ..http.formatter import dumps
from .asyncapi import asyncapi
from .asyncapi import PROVIDER as SOCKET_PROVIDER
from .asyncapi import SERVER
from .document import document
from .rights import services_for

if t.TYPE_CHECKING:
    from collections.abc import Hashable

    from ..typing import Record

MAX_DOCUMENTS: t.Final = 16
"""The number of documents in each format that an application keeps."""


@dataclass(frozen=True)
class SentDocument:
    """A document as it is sent."""

    body: bytes
    """Its text."""

    etag: str
    """The ``ETag`` of its text."""


class Make(t.Protocol):
    """Makes a document."""

    def __call__(self, root: str, params: Params, *, only_usable: bool) -> Record: ...


class Documents:
    """The documents of one application in one format.

    :param make: Makes a document for one caller.
    :param provider: The transport of the calls that it describes.
    """

    def __init__(self, make: Make, provider: str) -> None:
        self._make = make
        self._provider = provider
        self._made: dict[Hashable, SentDocument] = {}
        self._lock = Lock()

    @classmethod
    def of_requests(cls) -> Documents:
        """Return the OpenAPI documents."""
        return cls(_openapi, PROVIDER)

    @classmethod
    def of_sockets(cls) -> Documents:
        """Return the AsyncAPI documents."""
        return cls(_asyncapi, SOCKET_PROVIDER)

    def of_all(self, root: str) -> SentDocument:
        """Return the document of all services, as anonymous clients may see it.

        :param root: The path of the application on its server.
        """
        params = Params(provider=self._provider)
        return self._document((root, None), root, params, only_usable=False)

    def of_caller(self, root: str, params: Params) -> SentDocument:
        """Return the document of what one caller may use.

        :param root: The path of the application on its server.
        :param params: The params of the caller, with its login.
        """
        params = replace(params, provider=self._provider)
        rights = hashlib.sha256()

        # Only its schemas tell all that a caller may see.
        for service, schemas, events in services_for(params, only_usable=True):
            own = service.path, service.methods, schemas, events
            rights.update(repr(own).encode())

        key = root, rights.digest()
        return self._document(key, root, params, only_usable=True)

    def _document(
        self, key: Hashable, root: str, params: Params, *, only_usable: bool
    ) -> SentDocument:
        """Return the document of a key, which one thread makes."""
        with self._lock:
            if key not in self._made:
                body = dumps(self._make(root, params, only_usable=only_usable))
                etag = quote_etag(generate_etag(body), weak=True)

                if len(self._made) >= MAX_DOCUMENTS:
                    self._made.clear()

                self._made[key] = SentDocument(body, etag)

            return self._made[key]


def _openapi(root: str, params: Params, *, only_usable: bool) -> Record:
    made = document(params, only_usable=only_usable)
    return {**made, "servers": [{"url": root or "/"}]}


def _asyncapi(root: str, params: Params, *, only_usable: bool) -> Record:
    made = asyncapi(params, only_usable=only_usable)
    server = made["servers"][SERVER]
    server["pathname"] = f"{root}{server['pathname']}"
    return made
