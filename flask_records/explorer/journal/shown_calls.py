"""Recorded calls as JSON, without values."""

from __future__ import annotations

import typing as t

from .advice import warnings_of

if t.TYPE_CHECKING:
    from .plans import Plan
    from .recorded import Call
    from .recorded import Part
    from .recorded import Statement

    Shown: t.TypeAlias = dict[str, t.Any]


def summary(call: Call) -> Shown:
    """Return a call for a list: its service, method, time and result in numbers."""
    return {
        "id": call.id,
        "path": call.path,
        "method": call.method,
        "provider": call.provider,
        "status": call.status,
        "error": call.error,
        "at": call.at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "milliseconds": _rounded(call.milliseconds),
        "data": call.data_fields,
        "query": call.query_fields,
        "statements": call.number_of_statements,
        "warnings": len(warnings_of(call)),
    }


def details(call: Call) -> Shown:
    """Return a call with its parts, its statements and the warnings about it."""
    statements = list(call.statements)
    return {
        **summary(call),
        "parts": [_part(part, call) for part in list(call.parts)],
        "statements": [_statement(each, call) for each in statements],
        "warnings": [each._asdict() for each in warnings_of(call)],
        "partsLeftOut": call.number_of_parts - len(list(call.all_parts())),
        "statementsLeftOut": call.number_of_statements - len(statements),
    }


def _part(part: Part, call: Call) -> Shown:
    within = [each for each in call.statements if each.part.is_within(part)]
    return {
        "phase": part.phase,
        "name": part.name,
        "error": part.error,
        "start": _rounded((part.started - call.started) * 1000),
        "milliseconds": _rounded(part.milliseconds),
        "statements": len(within),
        "parts": [_part(each, call) for each in list(part.parts)],
    }


def _statement(statement: Statement, call: Call) -> Shown:
    part, origin, plan = statement.part, statement.origin, statement.plan
    return {
        "sql": statement.sql,
        "milliseconds": _rounded(statement.milliseconds),
        "rows": statement.rows,
        "phase": None if part is call else part.phase,
        "name": None if part is call else part.name,
        "origin": origin and f"{origin.name}, line {origin.line}",
        "plan": None if plan is None else _plan(plan),
    }


def _plan(plan: Plan) -> Shown:
    return {"lines": plan.lines, "problem": plan.problem}


def _rounded(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else round(milliseconds, 3)
