"""Calls of the client that openapi-generator makes for Python."""

import json
import sys

from openapi_client import api as apis
from openapi_client import ApiClient, ApiException, Configuration, models


def enter(base, email):
    configuration = Configuration(host=base)
    client = ApiClient(configuration)
    login = {"email": email, "password": "correct horse battery"}
    apis.UsersApi(client).create_users(models.UsersCreate(**login))
    local = models.AuthenticationCreateLocal(strategy="local", **login)
    entered = apis.AuthenticationApi(client).create_authentication(
        models.AuthenticationCreate(local)
    )
    configuration.access_token = entered.access_token
    return client


def error_of(call, *arguments):
    try:
        call(*arguments)
    except ApiException as error:
        return json.loads(error.body)["name"]


def whole(record):
    """The record of an item that may be a group, too."""
    return getattr(record, "actual_instance", record)


def filled(record):
    """The names of the fields of a record that are not null."""
    return [name for name, value in vars(record).items() if value is not None]


def calls(client):
    api, up, down = apis.MessagesApi(client), 1, -1
    room = apis.RoomsApi(client).create_rooms(models.RoomsCreate(name="Lobby"))
    bodies = [models.MessagesCreate(text=text, roomId=room.id) for text in "abc"]
    made = api.create_messages(models.CreateMessagesRequest(bodies))
    ids = [each.id for each in made.actual_instance]
    directions = {"sort_created_at": down, "sort_id": down}
    page = api.find_messages(id_in=ids, id_gt=ids[0], limit=1, **directions)
    selected = api.find_messages(id=ids[0], select=["text"])
    second = api.find_messages(id_in=ids, sort_id=up, limit=1, skip=1)
    return {
        "total": page.total,
        "sorted": [whole(each).text for each in page.data],
        "selected": sorted(filled(whole(selected.data[0]))),
        "second": [whole(each).text for each in second.data],
        "patched": api.patch_messages(ids[0], models.MessagesPatch(text="d")).text,
        "removed": api.remove_messages(ids[0]).id == ids[0],
        "error": error_of(api.get_messages, ids[0]),
    }


def calls_of_everything(client, email):
    room = apis.RoomsApi(client).create_rooms(models.RoomsCreate(name=email))
    body = models.MessagesCreate(text="a", roomId=room.id)
    message = apis.MessagesApi(client).create_messages(
        models.CreateMessagesRequest(body), populate=["room"]
    )
    check = models.AuthManagementCreateCheckUnique(
        action="checkUnique",
        value=models.AuthManagementCreateCheckUniqueValue(email=email),
    )
    return {
        "room": message.actual_instance.room.name == email,
        "size": apis.PhotosApi(client).create_photos(title="Cat", file=b"abc").size,
        "number": apis.SummariesApi(client).find_summaries(first="2026-01-01").number,
        "taken": error_of(
            apis.AuthManagementApi(client).create_auth_management,
            models.AuthManagementCreate(check),
        ),
    }


base, email, application = sys.argv[1:]
client = enter(base, email)
is_example = application == "example"
given = calls(client) if is_example else calls_of_everything(client, email)
print(json.dumps(given))
