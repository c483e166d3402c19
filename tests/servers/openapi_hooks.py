"""The requests that schemathesis does not send."""

from urllib.parse import urlencode

import schemathesis

# gunicorn takes a request line of 1 MiB at most, whatever its settings are.
LONGEST = 1_000_000


@schemathesis.hook
def filter_query(context, query):
    return len(urlencode(query or {}, doseq=True)) < LONGEST
