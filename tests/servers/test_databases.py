"""The database servers that the environment names. Tests of all databases run on these,
and a test here is skipped in place of those of a server that it does not name.
"""

import pytest
import sqlalchemy as sa

from ..databases import SERVERS, url_of


@pytest.mark.parametrize("server", SERVERS)
def test_server_answers(server, server_urls):
    engine = sa.create_engine(url_of(server, server_urls))

    with engine.connect() as connection:
        assert connection.scalar(sa.select(sa.literal(1))) == 1

    engine.dispose()
