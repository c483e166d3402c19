"""Logins that are renewed."""

from .refresh_tokens import RefreshTokens as RefreshTokens
from .token_stores import RedisTokens as RedisTokens
from .token_stores import TableTokens as TableTokens
from .token_stores import TokenMixin as TokenMixin
from .token_stores import TokenStore as TokenStore
