"""Connections and requests in one event loop."""

from .application import Application as Application
from .event_loop import EventLoop as EventLoop
