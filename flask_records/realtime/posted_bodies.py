"""Bodies with many packets, for Socket.IO servers of the application."""

from __future__ import annotations

import io
import typing as t

from engineio.exceptions import EngineIOError
from engineio.payload import Payload

from .payloads import SEPARATOR

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator

    import engineio
    from _typeshed.wsgi import WSGIEnvironment

    Handler: t.TypeAlias = Callable[[WSGIEnvironment], None]


def accept_many_packets(server: engineio.Server) -> None:
    """Let a server handle all packets of a body. By itself, it answers 200 to a body of
    more than 16 packets, or with an invalid one, and forgets the packets.

    :param server: The Engine.IO server. Others of the process stay as they are.
    """
    connect = server.handlers["connect"]

    def connect_and_replace(sid: str, environ: WSGIEnvironment) -> t.Any:
        session = server.sockets[sid]
        session.handle_post_request = _in_parts(session)
        return connect(sid, environ)

    server.on("connect", connect_and_replace)


def _in_parts(session: engineio.Socket) -> Handler:
    """Return a handler of requests that handles a body in as many parts as needed."""
    handle, max_size = session.handle_post_request, session.server.max_http_buffer_size

    def handle_all(environ: WSGIEnvironment) -> None:
        try:
            size = int(environ.get("CONTENT_LENGTH") or 0)

            # The server refuses it, and must not read it.
            if size > max_size:
                handle(environ)
                return

            for part in _parts_of(environ["wsgi.input"].read(size)):
                body = {"wsgi.input": io.BytesIO(part), "CONTENT_LENGTH": len(part)}
                handle({**environ, **body})
        except (EngineIOError, KeyError, ValueError, RecursionError) as error:
            # The server would wait until the client polls.
            session.close(wait=False)
            raise EngineIOError("The body has an invalid packet.") from error

    return handle_all


def _parts_of(body: bytes) -> Iterator[bytes]:
    """Yield bodies of as many packets as a server reads."""
    separator, size = SEPARATOR.encode(), Payload.max_decode_packets

    # With JSONP, it is a form.
    if body.startswith(b"d="):
        yield body
        return

    packets = body.split(separator)

    for start in range(0, len(packets), size):
        yield separator.join(packets[start : start + size])
