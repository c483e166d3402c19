"""Options of services that are not what they should be."""

import pytest

from flask_records import FlaskRecords, Operator, SQLAlchemyService

from .. import models

RULES = ("visible", "writable", "allow")


def add(option, value):
    if option in ("readable", "allow"):
        service, options = SQLAlchemyService(models.Message), {option: value}
    else:
        service, options = SQLAlchemyService(models.Message, **{option: value}), {}

    FlaskRecords().add("messages", service, **options)


@pytest.mark.parametrize(
    "option", [*RULES, "operators", "populate", "extra_fields", "converters"]
)
@pytest.mark.parametrize("value", [["name"], "name", 5, {5: str}], ids=repr)
def test_option_that_maps_names_takes_nothing_else(option, value):
    with pytest.raises(TypeError, match=rf"^'{option}' maps .*: {option}={{.*}}, not "):
        add(option, value)


@pytest.mark.parametrize(
    ("option", "value"),
    [("operators", {"$x": str}), ("populate", {"user": Operator}), ("allow", [])],
)
def test_values_of_an_option_are_of_its_class(option, value):
    with pytest.raises(TypeError, match=f"^'{option}' maps names: {option}="):
        add(option, value)


@pytest.mark.parametrize("option", ["readable", "allow"])
@pytest.mark.parametrize("rule", [{5: 1}, {"$or": [{None: 1}]}], ids=str)
def test_rule_names_fields_by_text(option, rule):
    with pytest.raises(TypeError, match=f"'{option}' of 'messages'"):
        add(option, {"get": rule} if option == "allow" else rule)
