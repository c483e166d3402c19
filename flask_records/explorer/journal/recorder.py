"""Recording, as it is switched on for an application."""

from __future__ import annotations

import typing as t
from weakref import WeakSet

from .journal import Journal
from .recorded_pipeline import RecordedAccess
from .recorded_pipeline import RecordedPipeline
from .recorded_pipeline import RecordedSender
from .recording import EXTENSION
from .statements import listen

if t.TYPE_CHECKING:
    from flask import Flask

    from ...extension import FlaskRecords
    from ...service import Service

_recorded: WeakSet[FlaskRecords] = WeakSet()


class ServiceRecorder:
    """Records the calls of services: see :class:`.Recorder`."""

    sender = RecordedSender
    pipeline = RecordedPipeline
    access = RecordedAccess


def journal_of(app: Flask) -> Journal:
    """Return the last calls of an application. They are recorded from the first use on,
    while the application is in debug mode.

    :param app: An application with services.
    """
    if EXTENSION not in app.extensions:
        _record(app.extensions["records"])
        app.extensions[EXTENSION] = Journal()

    return t.cast("Journal", app.extensions[EXTENSION])


def _record(records: FlaskRecords) -> None:
    if records not in _recorded:
        _recorded.add(records)
        listen()
        records.for_each_service(_record_service)


def _record_service(service: Service) -> None:
    service.record_with(ServiceRecorder())
