"""Right uses of the client of tasks_app.py."""

from __future__ import annotations

import datetime as dt

from tasks import AsyncClient
from tasks import Bells
from tasks import BellsFound
from tasks import BellsRingData
from tasks import BellsRingResult
from tasks import Client
from tasks import Page
from tasks import Task
from tasks import TaskQuery

NOW = dt.datetime.now(dt.UTC)


def use(client: Client) -> list[object]:
    query: TaskQuery = {
        "dueAt": None,
        "ownerId": {"$in": [1, None], "$ne": None},
        "note": {"$null": True},
        "$or": [{"dueAt": {"$gt": NOW}}, {"ownerId": 1}],
        "$populate": ["owner"],
    }
    page: Page[Task] = client.tasks.find(query)
    owner = page.data[0].get("owner")
    years = [] if owner is None else [owner["name"].upper(), owner["bornOn"]]
    first = client.owners.find({"$populate": "tasks"})[0]
    texts = [task["text"] for task in first.get("tasks", [])]
    client.tasks.patch(1, {"dueAt": None, "ownerId": None})
    client.on_connect(lambda is_complete: print(is_complete.bit_length()))
    client.on_end(lambda reason: print(reason.upper()))
    ring: BellsRingData = {"times": 2, "at": NOW, "place": {"street": "a"}}
    rung: BellsRingResult = client.bells.ring(ring)
    until: dt.datetime = rung["until"]
    streets = [place["street"].upper() for place in rung["places"]]
    hummed: int = client.bells.hum({"any": "thing"})
    found: list[Bells] | BellsFound = client.bells.find()
    client.bells.on("rung", print)
    return [years, texts, until, streets, hummed, found]


async def use_in_a_loop(client: AsyncClient) -> int:
    rung = await client.bells.ring({"times": 2, "at": NOW})
    return rung["times"] + rung["until"].year
