#!/usr/bin/env bash
# sqlalchemy-utils 0.43.0 with SQLAlchemy 2.1.9: `import sqlalchemy_utils` alone, without
# any call, adds a listener of "after_flush" to every Session of the process, and
# listeners to every Mapper. Code that asks whether anybody listens to a session, to choose
# a faster way, is told so from then on.
# Seen: before [] after ['after_flush'].
# Exits with 1 if that changes.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet sqlalchemy==2.1.9 sqlalchemy-utils==0.43.0

"$work/venv/bin/python" - <<'PYTHON'
from sqlalchemy import orm

NAMES = ("before_flush", "after_flush", "after_flush_postexec")


def listened():
    dispatch = orm.Session().dispatch
    return [name for name in NAMES if getattr(dispatch, name)]


before = listened()
import sqlalchemy_utils  # noqa

after = listened()
print("before", before, "after", after)
raise SystemExit(not (before == [] and after == ["after_flush"]))
PYTHON
