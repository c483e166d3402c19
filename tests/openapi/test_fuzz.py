"""The requests that the OpenAPI document of the example allows, and others."""

from __future__ import annotations

import pytest

from .fuzz import main


@pytest.mark.slow
def test_operations_that_were_not_tested_are_an_error(tmp_path):
    problem = main(f"sqlite:///{tmp_path}/test.db", seconds=1)

    assert "Not all operations were tested within 1 seconds" in problem
