"""Wrong uses of the client of tasks_app.py. Each has a comment that makes a line
without an error one.
"""

from __future__ import annotations

import datetime as dt

from tasks import AsyncClient
from tasks import Client
from tasks import Task

NOW = dt.datetime.now(dt.UTC)


def misuse(client: Client, task: Task) -> None:
    # An identifier is never null.
    client.tasks.find({"id": None})  # type: ignore
    # A query string has no null for a text.
    client.tasks.find({"note": None})  # type: ignore
    # There is nothing before null.
    client.tasks.find({"dueAt": {"$lt": None}})  # type: ignore
    # There is no such relationship.
    client.tasks.find({"$populate": "author"})  # type: ignore
    # The list has another one.
    client.owners.find({"$populate": ["tasks", "owner"]})  # type: ignore
    # A task may have no owner.
    task.get("owner")["name"]  # type: ignore
    # Nobody writes relationships.
    client.tasks.create({"text": "a", "owner": None})  # type: ignore
    # The data lacks its time.
    client.bells.ring({"times": 2})  # type: ignore
    # The number of times is a number.
    client.bells.ring({"times": "2", "at": NOW})  # type: ignore
    # A place has a street.
    client.bells.ring({"times": 2, "at": NOW, "place": {}})  # type: ignore
    # The result has no such member.
    client.bells.ring({"times": 2, "at": NOW})["at"]  # type: ignore
    # The end is a time.
    client.bells.ring({"times": 2, "at": NOW})["until"].upper()  # type: ignore
    # There is no such method.
    client.bells.rang({})  # type: ignore
    # The result may be a page.
    client.bells.find()[0]  # type: ignore
    # Tasks have no such event.
    client.tasks.on("rung", print)  # type: ignore
    # The event has a task.
    client.tasks.on("created", lambda task: task["texd"])  # type: ignore
    # It is told whether events were missed.
    client.on_connect(lambda: print("connected"))  # type: ignore


async def misuse_in_a_loop(client: AsyncClient) -> None:
    # Calls have to be awaited.
    print(client.bells.ring({"times": 2, "at": NOW})["times"])  # type: ignore
