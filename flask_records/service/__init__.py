"""Services: named sets of records, reached through six methods."""

from .named_hooks import hook as hook
from .service import Service as Service
from .target import Capabilities as Capabilities
from .target import Target as Target
