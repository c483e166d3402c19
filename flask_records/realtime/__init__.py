"""Calls and events over Socket.IO."""

from .connection import Connection as Connection
from .extension import Realtime as Realtime
