"""Services: named sets of records, reached through six methods."""

from .capabilities import Capabilities as Capabilities
from .service import Service as Service
