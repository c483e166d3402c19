"""The services of the reference application that have no table."""

import datetime as dt

from flask import g, jsonify, request, Response

import flask_records
from flask_records import (
    BadRequest,
    current_call,
    Forbidden,
    NotAuthenticated,
    NotFound,
    RecordsError,
    Strategy,
    Unprocessable,
)

ERRORS = {
    error().name: error
    for error in vars(flask_records).values()
    if isinstance(error, type) and error in RecordsError.__subclasses__()
}


class Echo:
    """Answers what it was called with."""

    def find(self, params):
        return shape("find", params)

    def get(self, id, params):
        return shape("get", params, id=id)

    def create(self, data, params):
        return shape("create", params, data=data)

    def update(self, id, data, params):
        return shape("update", params, id=id, data=data)

    def patch(self, id, data, params):
        return shape("patch", params, id=id, data=data)

    def remove(self, id, params):
        return shape("remove", params, id=id)


TYPES = {type(None): "null", str: "string", int: "number"}


def shape(method, params, **arguments):
    told = {"method": method, **arguments}
    keys = ["headers", "provider", "query", "route"]
    told |= {"query": params.query, "provider": params.provider, "route": params.route}
    told["hasUser"] = params.user is not None

    if "id" in arguments:
        told["idType"] = TYPES[type(arguments["id"])]

    for key, value in (
        ("authentication", params.authentication),
        ("connection", params.connection),
        ("user", params.user),
    ):
        if value is not None:
            keys.append(key)

    if "from_middleware" in g:
        told["fromMiddleware"] = g.from_middleware
        keys.append("fromMiddleware")

    return told | {"paramKeys": sorted(keys)}


def set_from_middleware():
    g.from_middleware = "hello"


def add_update_data(response):
    if not current_call:
        return response

    if response.is_json and current_call.error is None:
        response.set_data(jsonify(current_call.sent | {"updateData": True}).data)

    response.headers["X-After-Method"] = current_call.method
    return response


class Export:
    def find(self, params):
        return [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


def format_csv(context):
    lines = ["a,b", *(f"{row['a']},{row['b']}" for row in context.sent)]
    return Response("\n".join(lines) + "\n", mimetype="text/csv")


class Formatted:
    def get(self, id, params):
        return {"id": id, "text": f"message {id}"}


def format_negotiated(context):
    best = request.accept_mimetypes.best_match(["text/plain", "application/json"])

    if best == "text/plain":
        text = f'The Message is: "{context.sent["text"]}"'
        return Response(text, mimetype="text/plain")

    return jsonify(formatted=context.sent)


class ReadOnly:
    def find(self, params):
        return [{"id": "one"}]

    def get(self, id, params):
        return {"id": id}


RETURNS = {
    "null": None,
    "false": False,
    "zero": 0,
    "empty": "",
    "emptyarray": [],
    "emptyobject": {},
    "string": "text",
    "number": 42,
    "true": True,
    "date": dt.datetime(1970, 1, 1),
}


class Returns:
    def get(self, id, params):
        return self._returned(id)

    def create(self, data, params):
        return self._returned(data["what"])

    def _returned(self, what):
        if what not in RETURNS:
            raise NotFound("Page not found", data={"url": request.path})

        return RETURNS[what]


class Status:
    def get(self, id, params):
        return {"id": id}

    def create(self, data, params):
        return data

    def remove(self, id, params):
        return None


class Errors:
    def get(self, id, params):
        if id in ERRORS and params.query.get("data"):
            data = {"detail": "more", "list": [1, 2]}
            raise ERRORS[id]("Something happened", data, {"field": "is wrong"})

        if id in ERRORS:
            raise ERRORS[id]("Something happened")

        raise SPECIAL_ERRORS.get(id, NotFound(f"No error named '{id}'"))


SPECIAL_ERRORS = {
    "nomessage": BadRequest(),
    "objectmessage": BadRequest("from object", {"extra": 1}, {"a": "b"}),
    "errorsarray": Unprocessable(
        "Invalid", errors=[{"path": "email", "message": "bad"}]
    ),
    "plain": Exception("A plain error"),
    "plainwitherrors": Exception("A plain error"),
    "plainwithcode": Exception("Teapot"),
    "plainwithstringcode": Exception("String code"),
    "plainwithdata": Exception("With data"),
    "typeerror": TypeError("Cannot read the property"),
    "string": Exception("just a string"),
}


def refuse_rest(method, context):
    refusals = {
        "find": Exception("You can not list via REST"),
        "get": Forbidden("You can not read via REST", data={"reason": "internal only"}),
        "remove": Exception("You can not delete a user via REST"),
    }

    if context.params.provider == "rest":
        raise refusals[method]


class Pings:
    events = ["pinged"]

    def create(self, data, params):
        current_call.service.emit("pinged", {"from": "service", "data": data})
        return data


class Shouter:
    def find(self, params):
        return []

    def create(self, data, params):
        return {"via": "create", "data": data}

    def shout(self, data, params):
        return {
            "via": "shout",
            "text": str(data.get("text")).upper(),
            "query": params.query,
        }

    def hidden(self, data, params):
        return {"via": "hidden", "data": data}


API_KEY = "oracle-api-key"


def parse_api_key(headers):
    key = headers.get("X-Api-Key")
    return {"apiKey": key} if key else None


def check_api_key(service, data, params):
    if data.get("apiKey") != API_KEY:
        raise NotAuthenticated("Incorrect API key")

    return {"apiKeyUsed": True}


api_key = Strategy(check_api_key, parse_api_key)


def whoami():
    user = g.authentication.get("user") or {}
    return jsonify(
        email=user.get("email"),
        hasPassword="password" in user,
        apiKeyUsed="apiKeyUsed" in g.authentication,
    )
