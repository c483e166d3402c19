import pytest

from flask_records.pagination import Pagination


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("default", 0),
        ("max", -1),
        ("max", "10"),
        ("default", 1.5),
        ("default", True),
        ("default", None),
    ],
)
def test_size_must_be_a_positive_integer(name, size):
    message = f"^paginate\\['{name}'\\] must be a positive integer, not {size!r}\\.$"

    with pytest.raises(RuntimeError, match=message):
        Pagination.of({name: size})


@pytest.mark.parametrize("value", [10, True, {"maximum": 10}])
def test_of_anything_else_is_an_error(value):
    with pytest.raises(RuntimeError, match=r"^paginate .*'default'.*'max'"):
        Pagination.of(value)
