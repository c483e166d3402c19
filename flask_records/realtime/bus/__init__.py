"""The bus that carries events from one worker to the others."""

from .local import Bus as Bus
from .local import EVENTS as EVENTS
from .local import LOCK_TIMEOUT as LOCK_TIMEOUT
from .local import LOST as LOST
