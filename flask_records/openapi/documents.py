"""Documents, made once for all callers with the same rights."""

from __future__ import annotations

import hashlib
import typing as t
from dataclasses import dataclass
from threading import Lock

from werkzeug.http import generate_etag
from werkzeug.http import quote_etag

from ..context import Params
from ..globals import current_records
from ..http.blueprint import PROVIDER
from ..http.formatter import dumps
from .document import document
from .rights import usable_services

if t.TYPE_CHECKING:
    from collections.abc import Hashable

MAX_DOCUMENTS: t.Final = 16
"""The number of documents that an application keeps."""


@dataclass(frozen=True)
class SentDocument:
    """A document as it is sent."""

    body: bytes
    """Its text."""

    etag: str
    """The ``ETag`` of its text."""


class Documents:
    """The documents of one application."""

    def __init__(self) -> None:
        self._made: dict[Hashable, SentDocument] = {}
        self._lock = Lock()

    def of_all(self, root: str) -> SentDocument:
        """Return the document of all services, as anonymous clients may see it.

        :param root: The path of the application on its server.
        """
        return self._document((root, None), root, Params(provider=PROVIDER))

    def of_caller(self, root: str, params: Params) -> SentDocument:
        """Return the document of what one caller may use.

        :param root: The path of the application on its server.
        :param params: The params of the caller, with its login.
        """
        rights = hashlib.sha256()

        # Only its schemas tell all that a caller may see.
        for service in usable_services(current_records.services.values(), params):
            schemas = service.capabilities.schemas_for(params)
            rights.update(repr((service.path, service.methods, schemas)).encode())

        key = root, rights.digest()
        return self._document(key, root, params, only_usable=True)

    def _document(
        self, key: Hashable, root: str, params: Params, *, only_usable: bool = False
    ) -> SentDocument:
        """Return the document of a key, which one thread makes."""
        with self._lock:
            if key not in self._made:
                made = document(params, only_usable=only_usable)
                body = dumps({**made, "servers": [{"url": root or "/"}]})
                etag = quote_etag(generate_etag(body), weak=True)

                if len(self._made) >= MAX_DOCUMENTS:
                    self._made.clear()

                self._made[key] = SentDocument(body, etag)

            return self._made[key]
