"""Users whose tokens can be revoked."""

from flask_records import hash_password, SQLAlchemyService
from tests.authentication import bearer
from tests.http.accounts.people import User


def add_users(records):
    service = SQLAlchemyService(User, hidden=["password"], multi=True)
    users = records.add("users", service, public=["create"], readable=True)
    users.before("create", "update", "patch")(hash_password())


def register(client, email):
    return client.post("/users", json={"email": email, "password": "old"}).json["id"]


def log_in(client, email="ann"):
    login = {"strategy": "local", "email": email, "password": "old"}
    response = client.post("/authentication", json=login)
    assert response.status_code == 201, response.json
    return response.json["accessToken"]


def log_out(client, token):
    return client.delete("/authentication", headers=bearer(token))
