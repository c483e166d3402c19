"""A small OAuth 2.0 provider, at the same address as the reference application."""

from urllib.parse import urlencode

from flask import Blueprint, jsonify, request

from flask_records.http.formatter import empty

PROFILES = {
    "fake": {
        "id": "f-1001",
        "login": "fakeuser",
        "email": "fake@example.com",
        "avatar_url": "https://img.example.com/f-1001.png",
    },
    "noemail": {
        "id": "n-2002",
        "login": "shyuser",
        "avatar_url": "https://img.example.com/n-2002.png",
    },
}

NAMES = (*PROFILES, "denied")


def settings(base):
    return {name: _settings(f"{base}/fake-provider/{name}", name) for name in NAMES}


def _settings(url, name):
    return {
        "key": f"{name}-client-id",
        "secret": f"{name}-client-secret",
        "scope": "profile",
        "authorize_url": f"{url}/authorize",
        "access_url": f"{url}/token",
        "profile_url": f"{url}/profile",
    }


def blueprint():
    provider = Blueprint("provider", __name__, url_prefix="/fake-provider/<name>")

    @provider.get("/authorize")
    def authorize(name):
        answer = {"code": f"code-for-{name}"}

        if name == "denied":
            answer = {"error": "access_denied", "error_description": "The user said no"}

        answer["state"] = request.args["state"]
        location = f"{request.args['redirect_uri']}?{urlencode(answer)}"
        response = empty(302)
        response.location = location
        return response

    @provider.post("/token")
    def token(name):
        return jsonify(access_token=f"token-for-{name}", token_type="bearer")

    @provider.get("/profile")
    def profile(name):
        return jsonify(PROFILES.get(name, {}))

    return provider
