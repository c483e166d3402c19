"""A proxy that answers for every host itself, and records the addresses asked for."""

from __future__ import annotations

import ssl
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from http.server import ThreadingHTTPServer

import trustme
from werkzeug.test import EnvironBuilder
from werkzeug.test import run_wsgi_app


@contextmanager
def recording(app, folder, monkeypatch):
    """Let all HTTPS requests of this process end at a WSGI application.

    :return: The addresses that were requested.
    """
    authority, urls = trustme.CA(), []
    authority.cert_pem.write_to_path(folder / "authority.pem")

    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_CONNECT(self):
            self.host = self.path.removesuffix(":443")
            self.send_response_only(200)
            self.end_headers()
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            authority.issue_cert(self.host).configure_cert(context)
            self.connection = context.wrap_socket(self.connection, server_side=True)
            # The next request is one to that host.
            self.setup_files()
            self.handle_one_request()
            self.close_connection = True

        def setup_files(self):
            self.rfile = self.connection.makefile("rb")
            self.wfile = self.connection.makefile("wb")

        def do_GET(self):
            url = f"https://{self.host}{self.path}"
            urls.append(url)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            environ = EnvironBuilder(
                url, method=self.command, headers=[*self.headers.items()], data=body
            ).get_environ()
            parts, status, headers = run_wsgi_app(app, environ)
            content = b"".join(parts)
            self.send_response_only(int(status.split()[0]))

            for name, value in headers:
                if name.lower() not in ("content-length", "connection"):
                    self.send_header(name, value)

            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            self.wfile.flush()

        do_POST = do_GET

        def finish(self):
            super().finish()
            # The server knows the socket below it only.
            self.connection.close()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(folder / "authority.pem"))

    try:
        yield urls
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
