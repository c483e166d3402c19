"""Records of other classes than dict, read as dicts of their fields."""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Mapping

from ..pagination import Page
from ..typing import PLAIN_TYPES
from .results import cut_throughout

if t.TYPE_CHECKING:
    from ..typing import Record

INSTANCE: t.Final = """\
{place} is an instance of the model '{type}', some of whose columns may be secret. \
Return a record of its service, such as records['...'].get(id), or a dict.\
"""


def records_of(result: t.Any, place: str) -> t.Any:
    """Return a result with a dict for each record of another class: a pydantic model
    by its ``model_dump``, and a dataclass, a class of attrs, a named tuple or a row by
    its fields.

    :param result: A record, a list of records, a page, or anything else.
    :param place: The name of the result, for the error.
    :raises TypeError: There is an instance of a model in it.
    """
    if type(result) in PLAIN_TYPES or isinstance(result, dict):
        return result

    if isinstance(result, Page):
        return dataclasses.replace(result, data=records_of(result.data, place))

    if isinstance(result, (list, tuple)) and not hasattr(result, "_fields"):
        if {dict}.issuperset(map(type, result)):
            return result

        return [records_of(item, f"{place}[{i}]") for i, item in enumerate(result)]

    record = as_record(result, place)
    return result if record is None else record


def as_record(value: t.Any, place: str) -> Record | None:
    """Return an object of another class as a dict, or ``None`` if it is no record. The
    values in it are left as they are.

    :raises TypeError: It is an instance of a model.
    """
    class_ = type(value)
    names = vars(value) if hasattr(value, "__dict__") else ()

    if hasattr(class_, "__mapper__") or "_sa_instance_state" in names:
        raise TypeError(INSTANCE.format(place=place, type=class_.__name__))

    if hasattr(class_, "model_dump"):
        return _dumped(value)

    # A named tuple, or a row of SQLAlchemy.
    if hasattr(class_, "_asdict") and hasattr(class_, "_fields"):
        return dict(value._asdict())

    if isinstance(value, Mapping):
        return dict(value)

    fields = getattr(class_, "__attrs_attrs__", None)

    if dataclasses.is_dataclass(class_):
        fields = dataclasses.fields(class_)

    if fields is None or shows_itself(class_):
        return None

    public = [each.name for each in fields if not each.name.startswith("_")]
    return {name: getattr(value, name) for name in public}


def shows_itself(class_: t.Any) -> bool:
    """Return ``True`` for a class of values whose text the application has defined."""
    return any("__str__" in vars(base) for base in class_.__mro__[:-1])


def _dumped(value: t.Any) -> Record:
    """Return the fields of a pydantic model, without what nobody may see in them."""
    fields = dict(vars(value))
    shown = {name: cut_throughout(item) for name, item in fields.items()}
    changes = {name: each for name, each in shown.items() if each is not fields[name]}
    return t.cast("Record", value.model_copy(update=changes).model_dump())
