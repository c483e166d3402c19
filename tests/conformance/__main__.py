"""Serves the reference application.

Run ``PORT=4040 DATABASE_URL=sqlite:///file.db python -m tests.conformance``.
"""

from os import environ

import uvicorn

from .app import create_app

port = int(environ.get("PORT", 4040))
uvicorn.run(
    create_app(
        environ.get("DATABASE_URL", "sqlite:///conformance.db"),
        f"http://127.0.0.1:{port}",
    ),
    port=port,
    ws="wsproto",
    log_level="warning",
)
