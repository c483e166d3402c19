"""An application with two providers that the environment names, for gunicorn."""

from __future__ import annotations

import os

from tests.oauth_providers import make_app
from tests.oauth_providers import OpenIDProvider
from tests.oauth_providers import Provider


def create_app():
    """Return the application, whose tables are made."""
    fake, other = Provider(), OpenIDProvider()
    fake.url, other.url = os.environ["FAKE_URL"], os.environ["OTHER_URL"]
    other.options = {"params": {"response_mode": "form_post"}}
    app = make_app({"fake": fake, "other": other}, url=os.environ["DATABASE_URL"])

    with app.app_context():
        app.extensions["sqlalchemy"].create_all()

    return app
