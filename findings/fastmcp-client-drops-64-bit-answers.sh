#!/usr/bin/env bash
# fastmcp 4.2.3: a tool that FastMCP.from_openapi makes of an operation whose answer has a
# property of "maximum": 9223372036854775807 has the float 9.223372036854776e+18 in its
# output schema, which is 2**63. The client of the same package can't make a type of that:
# it logs an error, and "data" of the result is None, while "structured_content" has the
# answer. The bound of 32 bits is fine.
# Output seen: "2147483647 Root(id=5) {'id': 5}" and "9223372036854775807 None {'id': 5}".
# Exits with an error if both have data.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

python3 -m venv python
python/bin/pip install --quiet fastmcp==4.2.3 mcp==2.3.0 pydantic==2.14.4

cat > call.py <<'PYTHON'
import asyncio

import httpx2
from fastmcp import Client, FastMCP


def document(maximum):
    schema = {
        "type": "object",
        "properties": {"id": {"type": "integer", "maximum": maximum}},
        "required": ["id"],
    }
    answer = {"description": "ok", "content": {"application/json": {"schema": schema}}}
    get = {"operationId": "getNote", "responses": {"200": answer}}
    info = {"title": "x", "version": "1"}
    return {"openapi": "3.1.0", "info": info, "paths": {"/note": {"get": get}}}


async def call(maximum):
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, json={"id": 5}))
    client = httpx2.AsyncClient(transport=transport, base_url="http://x")
    server = FastMCP.from_openapi(document(maximum), client, name="x")

    async with Client(server) as caller:
        result = await caller.call_tool("getNote", {})

    print(maximum, result.data, result.structured_content)
    assert result.structured_content == {"id": 5}
    return result.data


small, large = (asyncio.run(call(2**bits - 1)) for bits in (31, 63))
assert small is not None and large is None
PYTHON

python/bin/python call.py 2>errors.log || { cat errors.log; exit 1; }
