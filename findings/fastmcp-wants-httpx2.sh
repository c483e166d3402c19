#!/usr/bin/env bash
# FastMCP 4.2.3 (PyPI): the client that FastMCP.from_openapi takes is no longer one of httpx.
# With an httpx.AsyncClient, as most examples on the web have it, it warns that this is
# deprecated and will be removed; httpx2.AsyncClient, of another distribution (httpx2),
# is what it wants. Output seen: "httpx: FastMCPDeprecationWarning", "httpx2: no warning".
# Exits with an error if either changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q fastmcp==4.2.3 httpx==0.28.1
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import httpx
import httpx2
from fastmcp import FastMCP

DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "notes", "version": "1"},
    "paths": {
        "/notes": {
            "get": {"operationId": "findNotes", "responses": {"200": {"description": "OK"}}}
        }
    },
}


def warned(module):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        client = module.AsyncClient(base_url="http://127.0.0.1:9")
        FastMCP.from_openapi(DOCUMENT, client, name="notes")

    return [each.category.__name__ for each in caught if "httpx" in str(each.message)]


old, new = warned(httpx), warned(httpx2)
print("httpx:", ", ".join(old) or "no warning")
print("httpx2:", ", ".join(new) or "no warning")
raise SystemExit(0 if old == ["FastMCPDeprecationWarning"] and new == [] else 1)
PYTHON
