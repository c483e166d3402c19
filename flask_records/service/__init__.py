"""Services: named sets of records, reached through six methods."""

from .service import refuse_text as refuse_text
from .service import Service as Service
from .target import Capabilities as Capabilities
from .target import Target as Target
