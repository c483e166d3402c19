"""The requests that the OpenAPI document of the example allows, and others."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from ..databases import url_of
from .fuzz import main


@pytest.mark.slow
def test_operations_that_were_not_tested_are_an_error(tmp_path):
    problem = main(f"sqlite:///{tmp_path}/test.db", seconds=1)

    assert "Not all operations were tested within 1 seconds" in problem


@pytest.mark.slow
@pytest.mark.parametrize("database", ["postgresql", "mariadb"])
def test_a_run_leaves_nothing_on_the_server(database, server_urls):
    url = url_of(database, server_urls)

    main(url, seconds=1)

    engine = sa.create_engine(url)
    names = sa.inspect(engine).get_table_names()
    engine.dispose()
    assert names == []
