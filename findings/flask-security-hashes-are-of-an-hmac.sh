#!/usr/bin/env bash
# Flask-Security 5.9.2: what it stores is a hash of Argon2 by its form, but not of the
# password: of an HMAC of it, by SECURITY_PASSWORD_SALT. Whatever else verifies hashes of
# Argon2, such as argon2-cffi, finds each right password wrong, without an error, so that
# users who are moved to another application can't log in, and no log says why.
# SECURITY_PASSWORD_SINGLE_HASH names the schemes of which it hashes the password itself.
#
# Output seen:
#   stored: $argon2id$v=19$m=65536,t=3,p=4$...
#   Flask-Security: True
#   argon2-cffi: The password does not match the supplied hash
#   with SECURITY_PASSWORD_SINGLE_HASH, argon2-cffi: True
#
# Exits with an error if argon2-cffi verifies the first one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/hashes.py" <<'PYTHON'
import warnings

warnings.simplefilter("ignore")

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError
from flask import Flask
from flask_security import hash_password, Security, verify_password
from flask_security.datastore import UserDatastore


class User:
    fs_uniquifier = "x"


def hashed(**config):
    app = Flask("app")
    app.config.update(SECRET_KEY="x" * 40, SECURITY_PASSWORD_SALT="salt", **config)
    Security(app, UserDatastore(User, None), register_blueprint=False)

    with app.app_context():
        hash = hash_password("a long secret")
        return hash, verify_password("a long secret", hash)


def verified(hash):
    try:
        return PasswordHasher().verify(hash, "a long secret")
    except VerifyMismatchError as error:
        return error


hash, is_valid = hashed()
print(f"stored: {hash[:31]}...")
print(f"Flask-Security: {is_valid}")
print(f"argon2-cffi: {verified(hash)}")
assert is_valid and verified(hash) is not True
single, _ = hashed(SECURITY_PASSWORD_SINGLE_HASH=["argon2"])
print(f"with SECURITY_PASSWORD_SINGLE_HASH, argon2-cffi: {verified(single)}")
assert verified(single) is True
PYTHON

python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet "flask-security==5.9.2" "argon2-cffi==25.1.0" "flask==3.1.2"
"$folder/venv/bin/python" "$folder/hashes.py"
