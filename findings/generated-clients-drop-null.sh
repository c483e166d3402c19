#!/usr/bin/env bash
# openapi-python-client 0.29.1 and openapi-fetch 0.17.0: a query parameter whose schema is
# "type": ["integer", "null"], and whose generated type accepts null, is left out of the
# request if its value is null. A filter "roomId is null" becomes no filter at all, so
# that the server answers with all records. Neither warns.
# Output seen: "python: {}" and "fetch: http://x/messages".
# Exits with an error if one of them sends something for null.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cat > openapi.json <<'JSON'
{
  "openapi": "3.1.0",
  "info": {"title": "x", "version": "1"},
  "paths": {"/messages": {"get": {
    "operationId": "find",
    "parameters": [
      {"name": "roomId", "in": "query", "schema": {"type": ["integer", "null"]}}
    ],
    "responses": {"200": {"description": "ok"}}
  }}}
}
JSON

python3 -m venv python
python/bin/pip install --quiet openapi-python-client==0.29.1
python/bin/openapi-python-client generate --path openapi.json --meta none \
    --output-path client >generated.log 2>&1
sent=$(python/bin/python -c '
from client.api.default import find
print(find._get_kwargs(room_id=None)["params"])')
echo "python: $sent"

npm init --yes >/dev/null
npm install --silent --no-audit --no-fund openapi-fetch@0.17.0
cat > call.mjs <<'JS'
import createClient from 'openapi-fetch'
const fetch = async ({ url }) => {
  console.log(url)
  return new Response('{}', { headers: { 'Content-Type': 'application/json' } })
}
const client = createClient({ baseUrl: 'http://x', fetch })
await client.GET('/messages', { params: { query: { roomId: null } } })
JS
url=$(node call.mjs)
echo "fetch: $url"

[[ $sent == "{}" && $url == "http://x/messages" ]]
