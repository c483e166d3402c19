"""Mappings of settings, whose values errors do not show."""

import pytest

from flask_records.realtime.settings import CHECKS
from flask_records.settings import read_settings

URL = "redis://:hunter2@127.0.0.1"


@pytest.mark.parametrize("settings", [URL, [URL], {"message_queue": [URL]}])
def test_secrets_are_in_no_error(settings):
    with pytest.raises(RuntimeError, match="^RECORDS_REALTIME") as caught:
        read_settings("RECORDS_REALTIME", settings, CHECKS, example={"stream": "sse"})

    assert "hunter2" not in str(caught.value)
