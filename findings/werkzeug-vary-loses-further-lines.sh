#!/usr/bin/env bash
# Adding to response.vary of Werkzeug 3.1.9 removes all lines of "Vary" but the first.
#
# A response may have several lines of the header, as of extensions that add one each by
# `headers.add`. The set of `response.vary` is made of the first line, and replaces all
# when something is added: caches mix the answers by the names that are lost.
#
# Output seen:
#   before: ['Cookie', 'Accept-Language']
#   after: ['Cookie, Origin']
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet werkzeug==3.1.9

cat >"$folder/vary.py" <<'PYTHON'
from werkzeug.wrappers import Response

response = Response()
response.headers.add("Vary", "Cookie")
response.headers.add("Vary", "Accept-Language")
print("before:", response.headers.getlist("Vary"))
response.vary.add("Origin")
print("after:", response.headers.getlist("Vary"))
PYTHON

seen=$("$folder/venv/bin/python" "$folder/vary.py")
printf '%s\n' "$seen"
expected="before: ['Cookie', 'Accept-Language']
after: ['Cookie, Origin']"
[ "$seen" = "$expected" ]
