"""Services: named sets of records, reached through six methods."""

from .service import Service as Service
from .target import Capabilities as Capabilities
