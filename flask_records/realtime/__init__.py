"""Calls and events over Socket.IO."""

from .channels import Channel as Channel
from .connection import Connection as Connection
from .extension import Realtime as Realtime
