import pytest

from flask_records import FlaskRecords, SQLAlchemyService

from ...databases import serving_models
from .app import keep_to_owner, Thing, World
from .strategies import GROUPS, ON_WHITELIST


@pytest.fixture(scope="module")
def world(module_url):
    options = {
        "multi": True,
        "hidden": ["password"],
        "readonly": ["owner_id"],
        "whitelist": [*ON_WHITELIST, *GROUPS, "$populate"],
    }
    pages = {"mine": None, "plain": None, "things": {"default": 5, "max": 8}}
    services = {
        path: SQLAlchemyService(Thing, paginate=paginate, **options)
        for path, paginate in pages.items()
    }

    with serving_models(module_url, services, FlaskRecords(app_errors=True)) as client:
        client.records["mine"].before()(keep_to_owner)
        yield World(client.application, client.db)
