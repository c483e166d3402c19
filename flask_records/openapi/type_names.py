"""The names of types that are made for services."""

from __future__ import annotations

import re
import typing as t
from collections import Counter
from itertools import chain, count

from ..http.routes import fill_placeholders, rule_of

if t.TYPE_CHECKING:
    from collections.abc import Collection, Mapping

WORD = re.compile(r"[A-Za-z0-9]+")

TYPE_NAME = re.compile(r"[A-Z]\w*")
"""The names of models that are names of types. Those that are made of tables may have
spaces, or be words of a language, such as ``class`` and ``number``.
"""


def type_names(
    models: Mapping[str, type | None],
    ends: Collection[str],
    reserved: Collection[str],
) -> dict[str, str]:
    """Return names for the records of services by path: that of the model, or that of
    the path if there is none, several services have the model, or its name is none for
    a type. Types that have them in their names are all different.

    :param models: The models of services, by path.
    :param ends: The ends of the names of the types of a service.
    :param reserved: The names of other types.
    """
    counts = Counter(models.values())
    taken = set(reserved)
    names = {}

    for path, model in models.items():
        own = model.__name__ if model and counts[model] == 1 else ""
        first = own if TYPE_NAME.fullmatch(own) else _name_of_path(path)

        for name in chain([first], (f"{first}{number}" for number in count(2))):
            all_names = {f"{name}{end}" for end in ends}

            if taken.isdisjoint(all_names):
                break

        names[path] = name
        taken |= all_names

    return names


def _name_of_path(path: str) -> str:
    words = WORD.findall(fill_placeholders(rule_of(path), lambda name: ""))
    name = "".join([f"{word[0].upper()}{word[1:]}" for word in words]) or "Root"
    return name if name[0].isalpha() else f"The{name}"
