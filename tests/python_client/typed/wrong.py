"""Wrong uses of the example's client. Each has a comment that makes a line without an
error one.
"""

from __future__ import annotations

from client import AsyncClient
from client import Client
from client import Message


def misuse(client: Client, message: Message) -> None:
    # There is no such service.
    print(client.mesages)  # type: ignore
    # The text is required.
    client.messages.create({"read": True})  # type: ignore
    # The text is no number.
    client.messages.create({"text": 1})  # type: ignore
    # Clients do not write it.
    client.messages.create({"text": "Hi", "private": True})  # type: ignore
    # There is no such field.
    client.messages.find({"txt": "Hi"})  # type: ignore
    # There is no such operator.
    client.messages.find({"text": {"$regex": "Hi"}})  # type: ignore
    # The service of users has no such operator.
    client.users.find({"name": {"$search": "Hi"}})  # type: ignore
    # A time is one of Python.
    client.messages.find({"createdAt": "2026-01-01"})  # type: ignore
    # A message has an identifier.
    client.messages.find({"id": None})  # type: ignore
    # There is no such relationship.
    client.messages.find({"$populate": "author"})  # type: ignore
    # A record that it refers to is there only if a query asks for it.
    client.messages.get(1)["room"]["name"]  # type: ignore
    # The direction is 1 or -1.
    client.messages.find({"$sort": {"text": "asc"}})  # type: ignore
    # Only some services change many.
    client.rooms.patch_many({"name": "Hi"}, {})  # type: ignore
    # Those that do need a query.
    client.messages.remove_many()  # type: ignore
    # One record has an identifier.
    client.messages.remove(None)  # type: ignore
    # The service has no such method.
    client.members.patch(1, {"roomId": 1})  # type: ignore
    # Find returns a page.
    client.messages.find()[0]  # type: ignore
    # Nobody sees a password.
    client.users.get(1)["password"]  # type: ignore
    # It may be null.
    message["roomId"].bit_length()  # type: ignore
    # There is no such event.
    client.messages.on("craeted", print)  # type: ignore
    # The service has no events of its own.
    client.rooms.on("typing", print)  # type: ignore
    # There is no such strategy.
    client.log_in("github")  # type: ignore


async def misuse_in_a_loop(client: AsyncClient) -> None:
    # Calls have to be awaited.
    print(client.messages.find().data)  # type: ignore
    # Pages are read in turn.
    [message for message in client.messages.all()]  # type: ignore
