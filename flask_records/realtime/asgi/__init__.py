"""Connections and requests in one event loop."""

from .application import Application as Application
