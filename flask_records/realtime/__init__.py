"""Calls and events over Socket.IO."""

from .connections import Channel as Channel
from .connections import Connection as Connection
from .extension import Realtime as Realtime
