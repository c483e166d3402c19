"""Services: named sets of records, reached through six methods."""

from .hooks import set_now as set_now
from .service import Service as Service
from .target import Capabilities as Capabilities
