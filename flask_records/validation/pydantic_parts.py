"""Classes that pydantic checks in part: nothing is required."""

from __future__ import annotations

import dataclasses
import inspect
import typing as t

from pydantic import BaseModel
from pydantic import create_model
from pydantic import model_validator
from pydantic import TypeAdapter
from typing_extensions import TypedDict

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection

    from pydantic.fields import FieldInfo


def adapter_of_part(class_: t.Any) -> TypeAdapter[t.Any]:
    """Return an adapter that checks the fields of a class that are there. Validators
    of the whole run if all others are null by default: they would judge by values that
    the record may not have.

    :param class_: A model, a dataclass, or a ``TypedDict``.
    """
    if isinstance(class_, type) and issubclass(class_, BaseModel):
        return TypeAdapter(_part_of_model(class_))

    hints = t.get_type_hints(class_, include_extras=True)

    if dataclasses.is_dataclass(class_):
        hints = {each.name: hints[each.name] for each in dataclasses.fields(class_)}

    make: t.Any = TypedDict
    return TypeAdapter(make(class_.__name__, hints, total=False))


def _part_of_model(model: type[BaseModel]) -> type[BaseModel]:
    needed = {name for name, each in model.model_fields.items() if _is_needed(each)}
    validators = {
        name: WRAPPERS[decorator.info.mode](decorator.func, needed)
        for name, decorator in model.__pydantic_decorators__.model_validators.items()
        if decorator.info.mode in WRAPPERS
    }
    part = create_model(model.__name__, __base__=model, __validators__=validators)

    for field in part.model_fields.values():
        field.default, field.default_factory = None, None
        field.validate_default = False

    part.model_rebuild(force=True)
    return part


def _is_needed(field: FieldInfo) -> bool:
    """Return ``True`` if a field has another default than null, or none."""
    has_factory = field.default_factory is not None
    return field.is_required() or has_factory or field.default is not None


def _after(function: Callable[..., t.Any], needed: Collection[str]) -> t.Any:
    takes_info = len(inspect.signature(function).parameters) > 1

    def check(self: t.Any, info: t.Any) -> t.Any:
        if not self.model_fields_set.issuperset(needed):
            return self

        return function(self, info) if takes_info else function(self)

    return model_validator(mode="after")(check)


def _wrap(function: Callable[..., t.Any], needed: Collection[str]) -> t.Any:
    takes_info = len(inspect.signature(function).parameters) > 2

    def check(cls: t.Any, data: t.Any, handler: t.Any, info: t.Any) -> t.Any:
        checked = handler(data)

        if not checked.model_fields_set.issuperset(needed):
            return checked

        rest = (info,) if takes_info else ()
        return function(data, handler, *rest)

    wrapped: t.Any = classmethod(check)
    return model_validator(mode="wrap")(wrapped)


WRAPPERS: t.Final[dict[str, Callable[..., t.Any]]] = {"after": _after, "wrap": _wrap}
"""Validators in place of those of a whole model, by their mode."""
