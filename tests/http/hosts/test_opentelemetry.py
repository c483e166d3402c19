"""Spans of OpenTelemetry, as the documentation makes them."""

from __future__ import annotations

import pytest
import requests
from opentelemetry.instrumentation.flask import FlaskInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ...realtime import connected
from ...test_docs import module as module
from .documented import serving


@pytest.fixture
def url(module):
    with serving("existing-tools.md", module) as url:
        yield url


@pytest.fixture
def spans(module, url):
    """A function that returns the spans that have ended."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    module.tracer = provider.get_tracer("notes")
    # A process has one provider, which other tests may have set.
    FlaskInstrumentor.uninstrument_app(module.app)
    FlaskInstrumentor().instrument_app(module.app, tracer_provider=provider)
    yield exporter.get_finished_spans
    FlaskInstrumentor.uninstrument_app(module.app)
    provider.shutdown()


def test_span_of_a_call_is_in_that_of_the_request(url, spans):
    requests.get(f"{url}/notes/1?$select=text")

    call, request = spans()
    assert (call.name, request.name) == ("notes get", "GET /notes/<record_id_>")
    assert call.parent.span_id == request.context.span_id


def test_call_over_a_socket_has_a_span(url, spans):
    with connected(url) as socket:
        socket.result("create", "notes", {"text": "Hello"})

    assert [(span.name, span.parent) for span in spans()] == [("notes create", None)]


def test_call_in_a_call_has_a_span_in_that_of_the_call(module, url, spans):
    module.notes.after("create")(lambda method, context: module.notes.find())

    with connected(url) as socket:
        socket.result("create", "notes", {"text": "Hello"})

    inner, outer = spans()[:2]
    assert (inner.name, outer.name) == ("notes find", "notes create")
    assert inner.parent.span_id == outer.context.span_id


def test_span_of_a_call_that_fails_has_its_error(url, spans):
    with connected(url) as socket:
        assert socket.error("get", "weather", "home")[0] == 500

    span = spans()[0]
    assert span.name == "weather get"
    assert not span.status.is_ok
    assert span.events[0].attributes["exception.type"] == "ValueError"
