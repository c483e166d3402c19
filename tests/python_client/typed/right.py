"""Right uses of the example's client."""

from __future__ import annotations

import datetime as dt

from client import AsyncClient
from client import BadRequest
from client import Client
from client import Message
from client import MessageData
from client import MessageQuery
from client import Page
from client import Retries


def use() -> str:
    with Client("http://localhost", timeout=5, retries=Retries(times=2)) as client:
        login = client.log_in("local", email="ann@example.com", password="secret")
        name: str | None = login["user"]["name"]
        query: MessageQuery = {
            "text": {"$search": "a"},
            "createdAt": {"$gt": dt.datetime.now(dt.UTC)},
            "$or": [{"id": {"$in": [1]}}, {"read": True}],
            "$sort": {"createdAt": -1},
            "$select": ["id", "text"],
            "$limit": 2,
            "$populate": ["user"],
        }
        page: Page[Message] = client.messages.find(query)
        first = page.data[0]
        year: int = first["createdAt"].year
        author = first.get("user")
        since = None if author is None else author["createdAt"].year
        data: MessageData = {"text": "Hi"}
        made: Message = client.messages.create(data)
        many: list[Message] = client.messages.create_many([data])
        client.messages.patch(made["id"], {"read": True, "roomId": None})
        client.messages.find({"roomId": None, "userId": {"$in": [1, None]}})
        gone: list[Message] = client.messages.remove_many({"archived": True})
        client.messages.typing({"roomId": 1})
        texts = [message["text"] for message in client.messages.all(query)]
        end = client.messages.on("created", lambda message: print(message["text"]))
        client.messages.on("typing", print)
        client.connect()
        end()

        try:
            client.users.patch(1, {"name": "Ann"})
        except BadRequest as error:
            return f"{error.errors} {error.code}"

        client.log_out()
        return f"{name} {year} {len(many)} {len(gone)} {texts} {page.total} {since}"


async def use_in_a_loop() -> list[str]:
    async def show(message: Message) -> None:
        print(message["text"])

    async with AsyncClient("http://localhost", token="x") as client:
        client.messages.on("patched", show)
        await client.connect()
        page = await client.messages.find({"read": {"$ne": True}})
        room = await client.rooms.create({"name": "Hi"})
        await client.rooms.remove(room["id"])
        texts = [message["text"] async for message in client.messages.all()]
        return texts + [message["text"] for message in page.data]
