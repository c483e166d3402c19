"""Calls and events over Socket.IO."""

from .connections import Channel, Connection
from .extension import Realtime

__all__ = ["Channel", "Connection", "Realtime"]
