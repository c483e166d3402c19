"""The order of events whose records are written at the same time."""

from __future__ import annotations

import threading

from ...authentication import ANN
from ...realtime import live, make_live_records


def test_last_event_of_a_record_tells_what_is_stored(tmp_path):
    records = make_live_records()
    messages = records["messages"]

    with live(records, tmp_path) as site, site.app.app_context():
        ann = site.connect(ANN)
        messages.create({"text": "A", "rank": 0})

        def write(start):
            with site.app.app_context():
                for rank in range(start, start + 20):
                    messages.patch(1, {"rank": rank})

        threads = [threading.Thread(target=write, args=[n * 100]) for n in (1, 2, 3)]

        for thread in threads:
            thread.start()

        for thread in threads:
            thread.join()

        ranks = [record["rank"] for name, record in ann.events()]
        assert len(ranks) == 61
        assert ranks[-1] == messages.get(1)["rank"]
