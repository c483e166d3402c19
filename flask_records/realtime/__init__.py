"""Calls and events over Socket.IO."""

try:
    from .channels import Channel as Channel
    from .connection import Connection as Connection
    from .extension import Realtime as Realtime
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"{error}. {__name__} needs 'flask-record-services[realtime]'."
    ) from error
