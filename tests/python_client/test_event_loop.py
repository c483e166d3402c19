"""The client for event loops, over HTTP against the example."""

from __future__ import annotations

import asyncio
import datetime as dt

import pytest

from tests.example import new_room


def test_calls_are_those_of_the_client_for_threads(made, url, credentials):
    async def use():
        async with made.AsyncClient(url) as client:
            login = await client.log_in("local", **credentials)
            room = (await client.rooms.create(new_room()))["id"]
            texts = [{"text": str(number), "roomId": room} for number in range(5)]
            created = await client.messages.create_many(texts)
            query = {"roomId": room, "$sort": {"id": 1}, "$limit": 2}
            page = await client.messages.find(query)
            found = [each async for each in client.messages.all(query)]

            with pytest.raises(made.NotFound):
                await client.messages.get(0)

            return login, created, page, found

    login, created, page, found = asyncio.run(use())

    assert login["user"]["email"] == credentials["email"]
    assert isinstance(created[0]["createdAt"], dt.datetime)
    assert page == made.Page(5, 2, 0, created[:2])
    assert found == created


def test_token_is_renewed_once_for_calls_at_once(made, url, credentials):
    async def use():
        async with made.AsyncClient(url) as client:
            await client.log_in("local", **credentials)
            renewals = []
            renew = client.renew
            client.renew = lambda: renewals.append(1) or renew()
            client.token = "x.y.z"
            calls = [client.users.find({"$limit": 0}) for _ in range(5)]
            pages = await asyncio.gather(*calls)
            await client.log_out()
            return len(renewals), len(pages), client.token

    assert asyncio.run(use()) == (1, 5, None)
