"""The unit of work: where a call reads and writes, and its transaction."""

from .database import Database as Database
from .transaction import Transaction as Transaction
