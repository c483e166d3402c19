#!/usr/bin/env bash
# Flask 3.1.3: stream_with_context runs the teardown functions of a request twice.
# They run at the end of the view, before the response is sent, and again at its end.
# What is opened before the first part (a database session of the context, say) is closed
# while the generator still uses it.
# Seen: "teardown, part, part, teardown". Expected: one teardown, after the parts.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet flask==3.1.3 werkzeug==3.1.3

seen=$("$folder/venv/bin/python" - <<'PYTHON'
from flask import Flask, Response, stream_with_context

app, told = Flask("app"), []


@app.teardown_request
def end(error):
    told.append("teardown")


@app.get("/")
def view():
    def parts():
        for part in ("a", "b"):
            told.append("part")
            yield part

    return Response(stream_with_context(parts()))


response = app.test_client().get("/", buffered=False)
list(response.iter_encoded())
response.close()
print(", ".join(told))
PYTHON
)
echo "$seen"
[ "$seen" = "teardown, part, part, teardown" ]
