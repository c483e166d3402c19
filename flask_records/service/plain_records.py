"""Results of other classes, as records."""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Callable, Mapping

from ..pagination import Page
from .hidden_names import are_same, PLAIN, without_hidden

if t.TYPE_CHECKING:
    from ..typing import Record

INSTANCE: t.Final = """\
{place} is an instance of the model '{type}', some of whose columns may be secret. \
Return a record of its service, such as records['...'].get(id), or a dict.\
"""


def plain(result: t.Any, place: str) -> t.Any:
    """Return a result with a dict for each record of another class, at any depth: a
    pydantic model by its ``model_dump``, and a dataclass, a class of attrs, a named
    tuple or a row by its fields. A result without these is returned as it is.

    :param result: A record, a list of records, a page, or anything else.
    :param place: The name of the result, for the error.
    :raises TypeError: There is an instance of a model in it.
    """
    if type(result) in PLAIN:
        return result

    if isinstance(result, Page):
        data = plain(result.data, place)
        changed = data is not result.data
        return dataclasses.replace(result, data=data) if changed else result

    if isinstance(result, dict):
        return _mapping(result, place)

    if isinstance(result, (list, tuple)) and not hasattr(result, "_fields"):
        items = [plain(item, f"{place}[{index}]") for index, item in enumerate(result)]
        return result if are_same(items, result) else items

    record = as_record(result, place)
    return result if record is None else _mapping(record, place)


def as_record(value: t.Any, place: str) -> Record | None:
    """Return an object of another class as a dict, or ``None`` if it is no record. The
    values in it are left as they are.

    :raises TypeError: It is an instance of a model.
    """
    class_ = type(value)

    if hasattr(class_, "__mapper__") or "_sa_instance_state" in getattr(
        value, "__dict__", ()
    ):
        raise TypeError(INSTANCE.format(place=place, type=class_.__name__))

    for applies, read in READERS:
        if applies(class_, value):
            return read(value)

    return None


def shows_itself(class_: t.Any) -> bool:
    """Return ``True`` for a class of values whose text the application has defined."""
    return any("__str__" in vars(base) for base in class_.__mro__[:-1])


def _mapping(record: dict[t.Any, t.Any], place: str) -> dict[t.Any, t.Any]:
    if PLAIN.issuperset(map(type, record.values())):
        return record

    items = {name: plain(item, f"{place}.{name}") for name, item in record.items()}
    return record if are_same(items.values(), record.values()) else items


def _dumped(value: t.Any) -> Record:
    # The keys of dicts in it would forget that fields are hidden.
    fields = dict(vars(value))
    shown = {name: without_hidden(item) for name, item in fields.items()}
    changes = {name: each for name, each in shown.items() if each is not fields[name]}
    return t.cast("Record", value.model_copy(update=changes).model_dump())


def _public(value: t.Any, names: t.Iterable[str]) -> Record:
    return {name: getattr(value, name) for name in names if not name.startswith("_")}


READERS: t.Final[
    tuple[tuple[Callable[[t.Any, t.Any], bool], Callable[[t.Any], Record]], ...]
] = (
    (lambda class_, value: hasattr(class_, "model_dump"), _dumped),
    (
        lambda class_, value: hasattr(class_, "_asdict") and hasattr(class_, "_fields"),
        lambda value: dict(value._asdict()),
    ),
    (
        lambda class_, value: (
            class_.__module__.startswith("sqlalchemy.") and hasattr(class_, "_mapping")
        ),
        lambda value: dict(value._mapping),
    ),
    (lambda class_, value: isinstance(value, Mapping), dict),
    (
        lambda class_, value: (
            dataclasses.is_dataclass(class_) and not shows_itself(class_)
        ),
        lambda value: _public(value, [each.name for each in dataclasses.fields(value)]),
    ),
    (
        lambda class_, value: (
            hasattr(class_, "__attrs_attrs__") and not shows_itself(class_)
        ),
        lambda value: _public(value, [each.name for each in value.__attrs_attrs__]),
    ),
)
"""The classes of records by what tells them, and the ways to read them."""
