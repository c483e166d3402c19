"""Statements that are built once for all queries of the same shape."""

from __future__ import annotations

import threading
import typing as t
from functools import partial

import sqlalchemy as sa

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Hashable
    from collections.abc import Sequence

    from .fields import Fields
    from .shape import Reading
    from .translator import Select
    from .translator import Translator

ID: t.Final = "records_id"
"""The parameter that stands for the identifier."""

KEYS: t.Final = "records_keys"
"""The parameter that stands for a list of primary keys."""

LIMIT: t.Final = "records_limit"
"""The parameter that stands for the number of records."""

SKIP: t.Final = "records_skip"
"""The parameter that stands for the number of records before them."""

MAX_SIZE: t.Final = 256
"""How many statements are kept for one kind of caller."""

MAX_WEIGHT: t.Final = 10_000
"""How many terms and columns these have together."""

T = t.TypeVar("T")


class Kept(t.Generic[T]):
    """Values that are made once for each key. Of too many, the oldest go.

    :param size: How many are kept.
    :param weight: How much they weigh together, at most.
    """

    def __init__(self, size: int = MAX_SIZE, weight: int = MAX_WEIGHT) -> None:
        self._size = size
        self._weight = weight
        self._values: dict[Hashable, tuple[T, int]] = {}
        self._total = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable, make: Callable[[], T], weight: int = 1) -> T:
        """Return the value of a key.

        :param key: The key.
        :param make: Makes the value.
        :param weight: How much the value weighs.
        """
        found = self._values.get(key)

        if found is not None:
            return found[0]

        value = make()

        with self._lock:
            self._forget(key)

            while self._values and not self._has_room(weight):
                self._forget(next(iter(self._values)))

            self._values[key] = value, weight
            self._total += weight

        return value

    def get_for(
        self,
        reading: Reading,
        key: tuple[Hashable, ...],
        make: Callable[[], T],
        columns: Sequence[t.Any] = (),
    ) -> T:
        """Return the value of a key and of the conditions of a query, made anew if it
        depends on more of them than their shape, or if they are too many.

        :param reading: The query.
        :param key: What else the value depends on.
        :param make: Makes the value.
        :param columns: What is selected.
        """
        if not reading.is_kept:
            return make()

        return self.get((*key, reading.terms), make, reading.size + len(columns))

    def _has_room(self, weight: int) -> bool:
        is_light = self._total + weight <= self._weight
        return is_light and len(self._values) < self._size

    def _forget(self, key: Hashable) -> None:
        _, weight = self._values.pop(key, (None, 0))
        self._total -= weight


class Statements:
    """The statements that read the records of a model for one kind of caller.

    :param fields: The fields that the caller knows of.
    :param translator: Makes statements of his queries.
    """

    def __init__(self, fields: Fields, translator: Translator) -> None:
        self._fields = fields
        self._translator = translator
        self._kept: Kept[Select] = Kept()

    def records(
        self,
        reading: Reading,
        columns: Sequence[t.Any],
        key: Hashable,
        *,
        one: bool = False,
        limited: bool = False,
        skipping: bool = False,
        nulls: bool = False,
    ) -> Select:
        """Return the statement that reads the records of a query. Its parameters are
        those of the query, and :data:`ID`, :data:`LIMIT` and :data:`SKIP`.

        :param reading: The query.
        :param columns: What is selected.
        :param key: What the columns are known by.
        :param one: Only the record of an identifier.
        :param limited: Not more than some number.
        :param skipping: Without some number of records before them.
        :param nulls: As for :meth:`.Translator.order_by`.
        """
        options = (one, limited, skipping, nulls)
        return self._kept.get_for(
            reading,
            ("records", key, reading.sort, *options),
            lambda: self._records(reading, columns, *options),
            columns,
        )

    def deep(self, reading: Reading, columns: Sequence[t.Any], key: Hashable) -> Select:
        """Return the statement that finds out the primary keys of records, whose equals
        come the way of the last field of the sort, and then reads these records in the
        usual order. Its parameters are :data:`LIMIT` and :data:`SKIP`, too.

        :param reading: The query.
        :param columns: What is selected.
        :param key: What the columns are known by.
        """
        return self._kept.get_for(
            reading,
            ("deep", key, reading.sort),
            lambda: self._deep(reading, columns),
            columns,
        )

    def count(self, reading: Reading) -> Select:
        """Return the statement that counts the records of a query.

        :param reading: The query.
        """
        return self._kept.get_for(reading, ("count",), lambda: self._count(reading))

    def keyed(self, columns: Sequence[t.Any], key: Hashable) -> Select:
        """Return the statement that reads records by their primary keys, which are the
        parameter :data:`KEYS`: values, or tuples if they have several columns.

        :param columns: What is selected.
        :param key: What the columns are known by.
        """
        make = partial(self._keyed, columns)
        return self._kept.get(("keyed", key), make, len(columns))

    def _keyed(self, columns: Sequence[t.Any]) -> Select:
        first, *others = self._fields.primary_key
        key = sa.tuple_(first, *others) if others else first
        keys = sa.bindparam(KEYS, type_=key.type, expanding=True)
        return sa.select(*columns).where(key.in_(keys))

    def _count(self, reading: Reading) -> Select:
        return self._translator.counted(self._conditions(reading))

    def _records(
        self,
        reading: Reading,
        columns: Sequence[t.Any],
        one: bool,
        limited: bool,
        skipping: bool,
        nulls: bool,
    ) -> Select:
        statement = sa.select(*columns).where(*self._conditions(reading))

        if one:
            id = self._fields.id.column
            parameter = sa.bindparam(ID, type_=id.type)
            return statement.where(id == parameter).limit(1)

        statement = statement.order_by(
            *self._translator.order(reading.sort, nulls=nulls)
        )

        if limited:
            statement = statement.limit(sa.bindparam(LIMIT, type_=sa.BigInteger()))

        if skipping:
            statement = statement.offset(sa.bindparam(SKIP, type_=sa.BigInteger()))

        return statement

    def _deep(self, reading: Reading, columns: Sequence[t.Any]) -> Select:
        (key,) = self._fields.primary_key
        chosen = (
            sa.select(key)
            .where(*self._conditions(reading))
            .order_by(*self._translator.order(reading.sort, same_way=True))
            .limit(sa.bindparam(LIMIT, type_=sa.BigInteger()))
            .offset(sa.bindparam(SKIP, type_=sa.BigInteger()))
        )
        order = self._translator.order(reading.sort)
        return sa.select(*columns).where(key.in_(chosen)).order_by(*order)

    def _conditions(self, reading: Reading) -> list[t.Any]:
        return self._translator.conditions(reading, is_kept=reading.is_kept)
