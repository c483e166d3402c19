"""Errors of databases, translated to errors that a client can see."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa
from sqlalchemy import orm

from .. import problems
from ..errors import BadRequest
from ..errors import Conflict
from ..errors import RecordsError
from .attempt import Attempt
from .availability import code_of
from .availability import unavailable
from .constraints import described
from .constraints import fields_of
from .constraints import named_columns
from .misfits import incomparable
from .misfits import is_misfit
from .misfits import misfit
from .referrers import referred_to
from .unwritable import unwritable
from .violations import Kind
from .violations import Violation
from .violations import violation_of

if t.TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Sequence

    from ..query import Fields
    from ..query.field_options import Constraint

IN_FAILED_TRANSACTION: t.Final = "25P02"
"""The state of PostgreSQL's errors of all statements after one that has failed."""

FAILED: t.Final = """\
A hook or a method has caught the error of a statement, for which the database undoes \
the whole transaction. Run what may fail in 'with session.begin_nested():'.\
"""

BLANKED_KEY: t.Final = "Dependency rule"
"""The beginning of SQLAlchemy's error of a primary key that would be null."""

UNKNOWN: t.Final = Attempt()
"""A statement of which nothing is known."""


# A generator would make each call of a service some microseconds slower.
class translated:
    """Raises errors that a client can see instead of those of the database, as a
    context manager. Errors that no client can fix are raised as they are.

    :param attempt: The statement. One that an error can't name a field of by default.
    :raises Conflict: The values contradict those that are stored.
    :raises BadRequest: The values do not fit.
    :raises MethodNotAllowed: The database does not write what the statement writes.
    :raises Unavailable: The database can't serve the call at the moment.
    :raises RuntimeError: The application has caught the error of a statement before.
    """

    def __init__(self, attempt: Attempt = UNKNOWN) -> None:
        self._attempt = attempt

    def __enter__(self) -> None:
        """Begin to translate errors."""

    def __exit__(self, *error: t.Any) -> None:
        if error[1] is not None:
            raise_translated(error[1], self._attempt)


def raise_translated(error: BaseException, attempt: Attempt = UNKNOWN) -> None:
    """Raise the error that a client can see for an error of the database, if any."""
    translation = unavailable(error) or _translation(error, attempt)

    if translation is not None:
        raise translation from error


def _translation(error: BaseException, attempt: Attempt) -> Exception | None:
    if isinstance(error, orm.exc.StaleDataError):
        return Conflict("The record was changed by another call. Try again.")

    if isinstance(error, sa.exc.CircularDependencyError):
        return Conflict("The records refer to each other. Write them one by one.")

    if isinstance(error, sa.exc.IntegrityError):
        return _broken(violation_of(error) or Violation(Kind.RULE), attempt)

    if isinstance(error, sa.exc.StatementError) and is_misfit(error):
        return misfit(error, attempt)

    if isinstance(error, sa.exc.DBAPIError):
        return _of_driver(error, attempt)

    fields = attempt.fields

    # SQLAlchemy tells many new records apart by their keys.
    if type(error) is sa.exc.InvalidRequestError and fields is not None:
        names = fields.fixed
        is_given = any(not names.isdisjoint(body) for body in attempt.bodies)
        return not_kept(fields) if is_given else None

    # SQLAlchemy can't set a primary key to null that refers to a removed record.
    if type(error) is AssertionError and str(error).startswith(BLANKED_KEY):
        return referred_to(Violation(Kind.REFERRED_TO), attempt)

    return None


def not_kept(fields: Fields) -> BadRequest:
    # MariaDB takes the identifier 0 for a request to generate one.
    return BadRequest(
        "The database does not keep this identifier. Leave it out.",
        errors={fields.id.name: problems.NOT_KEPT},
    )


def _of_driver(error: sa.exc.DBAPIError, attempt: Attempt) -> Exception | None:
    if code_of(error) == IN_FAILED_TRANSACTION:
        return RuntimeError(FAILED)

    # Some drivers have no class for some broken rules.
    if violation := violation_of(error):
        return _broken(violation, attempt)

    if problem := incomparable(error, attempt.query):
        return problem

    return None if attempt.fields is None else unwritable(error)


def _broken(violation: Violation, attempt: Attempt) -> RecordsError:
    """Return the error of a broken rule."""
    fields, kind = attempt.fields, violation.kind
    named = None if fields is None else described(violation, fields)

    if named is not None:
        return _of_constraint(named, kind)

    # The unit of work sets the keys of records to null that refer to a removed one.
    is_removal = fields is not None and not attempt.bodies
    is_reference = kind in (Kind.REFERENCE, Kind.REQUIRED)

    if kind is Kind.REFERRED_TO or (is_removal and is_reference):
        return referred_to(violation, attempt)

    names = fields_of(violation, attempt)

    if kind is Kind.REFERENCE and fields is not None and not names:
        names = _references(fields, _written(attempt))

    return MAKERS[kind](names)


def _of_constraint(constraint: Constraint, kind: Kind) -> RecordsError:
    """Return the error of a rule that the application has described."""
    names, problem = constraint
    is_conflict = kind in (Kind.UNIQUE, Kind.EXCLUSION, Kind.REFERENCE)
    return (Conflict if is_conflict else BadRequest)(
        f"{_quoted(names)} {problem}.", errors=dict.fromkeys(names, problem)
    )


def _not_unique(names: Sequence[str]) -> RecordsError:
    values = f"this {_quoted(names)}" if names else "these values"
    return Conflict(
        f"There is a record with {values} already.",
        errors=dict.fromkeys(names, problems.NOT_UNIQUE),
    )


def _required(names: Sequence[str]) -> RecordsError:
    return BadRequest(
        f"{_quoted(names) or 'A field'} is required.",
        errors=dict.fromkeys(names, problems.REQUIRED),
    )


def _bad_reference(names: Sequence[str]) -> RecordsError:
    if not names:
        return Conflict(
            "Other records refer to this one, or it to one that is not there."
        )

    return Conflict(
        f"{_quoted(names)} refers to a record that is not there.",
        errors=dict.fromkeys(names, problems.NO_RECORD),
    )


def _broken_rule(names: Sequence[str]) -> RecordsError:
    verb = "break" if len(names) > 1 else "breaks"
    return BadRequest(
        f"{_quoted(names) or 'The data'} {verb} a rule of the database.",
        errors=dict.fromkeys(names, problems.BROKEN_RULE),
    )


def _excluded(names: Sequence[str]) -> RecordsError:
    verb = "conflict" if len(names) > 1 else "conflicts"
    return Conflict(
        f"{_quoted(names) or 'The data'} {verb} with another record.",
        errors=dict.fromkeys(names, problems.EXCLUDED),
    )


MAKERS: t.Final = {
    Kind.UNIQUE: _not_unique,
    Kind.REQUIRED: _required,
    Kind.REFERENCE: _bad_reference,
    Kind.RULE: _broken_rule,
    Kind.EXCLUSION: _excluded,
}
"""The makers of errors that name fields, by the kind of the rule."""


def _written(attempt: Attempt) -> Collection[str]:
    """Return the names of the fields with a value: the client's, if there are any."""
    bodies = attempt.bodies
    names = {name for body in bodies for name in body if body[name] is not None}
    return names.intersection(attempt.client_fields) or names


def _references(fields: Fields, written: Collection[str]) -> list[str]:
    """Return the only field among those written that refers to another record."""
    names = [
        name
        for name, column in named_columns(fields)
        if column.foreign_keys and name in written and fields.body.is_written(name)
    ]
    return names if len(names) == 1 else []


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
