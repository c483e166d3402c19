"""Accounts: logins that are renewed, and what users confirm and change by mail."""

from .account_management import AccountManagement as AccountManagement
from .mailed_tokens import Mail as Mail
from .mailed_tokens import print_mail as print_mail
from .refresh_tokens import RefreshTokens as RefreshTokens
from .token_stores import RedisTokens as RedisTokens
from .token_stores import TableTokens as TableTokens
from .token_stores import TokenMixin as TokenMixin
from .token_stores import TokenStore as TokenStore
