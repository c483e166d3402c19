"""Calls and their steps, recorded as they run."""

from __future__ import annotations

import typing as t
import weakref
from contextlib import contextmanager
from contextvars import ContextVar

from flask import current_app
from flask import has_app_context

from .described import describe
from .described import fail
from .described import succeed
from .journal import Journal
from .recorded import Call
from .recorded import Part

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from ...context import HookContext

EXTENSION: t.Final = "records_explorer_calls"
"""The key of ``app.extensions`` that has the journal."""

CALL: t.Final = "call"
"""The phase of calls that are made in others."""

ACCESS: t.Final = "access"
"""The phase in which a caller is identified."""

_current: ContextVar[Part | None] = ContextVar("records_part", default=None)

_is_paused: ContextVar[bool] = ContextVar("records_is_paused", default=False)

Begun: t.TypeAlias = tuple["weakref.ref[HookContext]", Call]

# A context would keep its data alive until the next call.
_begun: ContextVar[Begun | None] = ContextVar("records_begun", default=None)


def current_part() -> Part | None:
    """Return the part of a recorded call that is running, if there is one."""
    part = _current.get()
    # A thread that a hook has started may have a copy of the context.
    return None if part is None or part.call.is_over else part


def current_journal() -> Journal | None:
    """Return the journal that a call belongs in: that of the current application, if
    it is in debug mode.
    """
    if _is_paused.get() or not has_app_context() or not current_app.debug:
        return None

    return t.cast("Journal | None", current_app.extensions.get(EXTENSION))


@contextmanager
def unrecorded() -> Iterator[None]:
    """Record no calls but parts of one that is recorded."""
    token = _is_paused.set(True)

    try:
        yield
    finally:
        _is_paused.reset(token)


@contextmanager
def recorded_step(phase: str, name: str) -> Iterator[None]:
    """Record a step of the call that is running, if one is recorded."""
    outer = current_part()

    if outer is None:
        yield
        return

    part = Part(phase=phase, name=name, outer=outer)
    outer.add(part)

    with _running(part):
        yield


@contextmanager
def recorded_end() -> Iterator[None]:
    """Record the end of a call as a step, from where :func:`begin_end` begins it."""
    outer = _current.get()

    with _within(outer):
        try:
            yield
        finally:
            part = _current.get()

            if part is not None and part is not outer:
                part.end()


def begin_end(phase: str, name: str) -> None:
    """Begin the step with which a call ends."""
    outer = current_part()

    if outer is not None:
        part = Part(phase=phase, name=name, outer=outer)
        outer.add(part)
        _current.set(part)


@contextmanager
def recorded_access(context: HookContext) -> Iterator[None]:
    """Record the access check of a call, which :func:`recorded_call` goes on with."""
    outer, journal = current_part(), current_journal()

    if outer is None and journal is None:
        yield
        return

    call = _begin(context, outer)

    try:
        with _within(call), recorded_step(ACCESS, context.path):
            yield
    except BaseException as error:
        fail(call, error)
        _finish(call, journal)
        raise

    _begun.set((weakref.ref(context), call))


@contextmanager
def recorded_call(context: HookContext, *, is_bare: bool = False) -> Iterator[None]:
    """Record a call, as a part of the one that is running, or in the journal of the
    current application, if it has one.

    :param is_bare: ``True`` for a call without hooks.
    """
    outer, journal = current_part(), current_journal()

    if outer is None and journal is None:
        yield
        return

    call = _taken(context) or _begin(context, outer, is_bare=is_bare)
    describe(call, context)

    try:
        with _within(call):
            yield

        succeed(call, context)
    except BaseException as error:
        fail(call, error)
        raise
    finally:
        _finish(call, journal)


@contextmanager
def _running(part: Part) -> Iterator[None]:
    try:
        with _within(part):
            yield
    except BaseException as error:
        part.error = type(error).__name__
        raise
    finally:
        part.end()


@contextmanager
def _within(part: Part | None) -> Iterator[None]:
    token = _current.set(part)

    try:
        yield
    finally:
        _current.reset(token)


def _begin(context: HookContext, outer: Part | None, *, is_bare: bool = False) -> Call:
    method = f"_{context.method}" if is_bare else context.method
    call = Call(
        phase=CALL,
        name=f"{context.path}.{method}",
        path=context.path,
        method=context.method,
        provider=context.params.provider,
        outer=outer,
    )

    if outer is not None:
        outer.add(call)

    return call


def _taken(context: HookContext) -> Call | None:
    """Return what the access check of a call has begun, if there was one."""
    begun = _begun.get()

    if begun is None or begun[0]() is not context:
        return None

    _begun.set(None)
    return begun[1]


def _finish(call: Call, journal: Journal | None) -> None:
    call.end()

    if call.outer is None and journal is not None:
        call.is_over = True
        journal.add(call)
