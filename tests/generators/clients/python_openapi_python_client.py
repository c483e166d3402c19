"""Calls of the client that openapi-python-client makes."""

import datetime as dt
import importlib
import json
import sys
from io import BytesIO

from records_client import AuthenticatedClient, Client, models, types


def call(client, place, name, *arguments, **options):
    """The result of a call."""
    module = importlib.import_module(f"records_client.api.{place}.{name}")
    return module.sync(*arguments, client=client, **options)


def enter(base, email):
    client = Client(base)
    login = {"email": email, "password": "correct horse battery"}
    call(client, "users", "create_users", body=models.UsersCreate(**login))
    local = models.AuthenticationCreateLocal(strategy="local", **login)
    entered = call(client, "authentication", "create_authentication", body=local)
    return AuthenticatedClient(base, entered.access_token)


def calls(client):
    def ask(name, *arguments, **options):
        return call(client, "messages", f"{name}_messages", *arguments, **options)

    up, down = models.Direction.ASCENDING, models.Direction.DESCENDING
    room = call(client, "rooms", "create_rooms", body=models.RoomsCreate("Lobby"))
    bodies = [models.MessagesCreate(text, room_id=room.id) for text in "abc"]
    ids = [each.id for each in ask("create", body=bodies)]
    directions = {"sortcreated_at": down, "sortid": down}
    page = ask("find", idin=ids, idgt=ids[0], limit=1, **directions)
    select = [models.FindMessagesSelectItem.TEXT]
    selected = ask("find", id=ids[0], select=select)
    second = ask("find", idin=ids, sortid=up, limit=1, skip=1)
    return {
        "total": page.total,
        "sorted": [each.text for each in page.data],
        "selected": sorted(selected.data[0].to_dict()),
        "second": [each.text for each in second.data],
        "patched": ask("patch", ids[0], body=models.MessagesPatch(text="d")).text,
        "removed": ask("remove", ids[0]).id == ids[0],
        "error": ask("get", ids[0]).name,
    }


def calls_of_everything(client, email):
    room = call(client, "rooms", "create_rooms", body=models.RoomsCreate(email))
    message = call(
        *(client, "messages", "create_messages"),
        body=models.MessagesCreate("a", room_id=room.id),
        populate=[models.CreateMessagesPopulateItem.ROOM],
    )
    photo = call(
        *(client, "photos", "create_photos"),
        body=models.PhotosCreate("Cat", types.File(BytesIO(b"abc"), "cat.txt")),
    )
    taken = call(
        *(client, "auth_management", "create_auth_management"),
        body=models.AuthManagementCreateCheckUnique(
            "checkUnique", models.AuthManagementCreateCheckUniqueValue(email)
        ),
    )
    summary = call(client, "summaries", "find_summaries", first=dt.date(2026, 1, 1))
    return {
        "room": message.room.name == email,
        "size": photo.size,
        "number": summary.number,
        "taken": taken.name,
    }


base, email, application = sys.argv[1:]
client = enter(base, email)
is_example = application == "example"
given = calls(client) if is_example else calls_of_everything(client, email)
print(json.dumps(given))
