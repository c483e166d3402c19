"""Connections and requests in one event loop."""

from .application import Application as Application
from .application import serve as serve
