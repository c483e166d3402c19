"""Measures whether the time of an answer tells if there is an account: milliseconds of
each action for an account that is there, and as a ratio for one that is not.

Run it with ``python -m tests.benchmarks.accounts``. It takes about two minutes. With
``DATABASE_URL`` it measures on that database, whose tables it makes and drops.
"""

import os
import random
import statistics
import tempfile
import time
from pathlib import Path

from flask_records import TableTokens

from ..http.accounts.people import (
    email_of,
    make_records,
    register,
    served,
    settle,
    Token,
)

ROUNDS = 300


def actions(name):
    """The path and the body of each action for an account."""
    email = {"email": email_of(name)}
    login = {"strategy": "local", "password": "a wrong horse", **email}
    return {
        "login": ("/authentication", login),
        "sendResetPwd": ("/authManagement", {"action": "sendResetPwd", "value": email}),
        "resendVerifySignup": (
            "/authManagement",
            {"action": "resendVerifySignup", "value": email},
        ),
    }


def measured(client, path, body):
    """The seconds of an answer. What goes on in the background is over before."""
    settle()
    begin = time.perf_counter()
    client.post(path, json=body)
    return time.perf_counter() - begin


def main():
    with tempfile.TemporaryDirectory() as folder:
        url = os.environ.get("DATABASE_URL", f"sqlite:///{Path(folder, 'accounts.db')}")
        records = make_records(TableTokens(Token), [])

        with served(records, url, passwords={}) as app:
            client = app.test_client()
            register(client, "ann")

            for action in actions("ann"):
                times = {"ann": [], "bob": []}

                for _ in range(ROUNDS):
                    for name in random.sample([*times], 2):
                        path, body = actions(name)[action]
                        times[name].append(measured(client, path, body))

                known, unknown = map(statistics.median, times.values())
                print(f"{action:20} {known * 1000:7.3f} ms {unknown / known:6.3f}")


if __name__ == "__main__":
    main()
