"""Logins, tokens and passwords."""

from .api_keys import ApiKeyMixin as ApiKeyMixin
from .api_keys import ApiKeys as ApiKeys
from .hooks import accept_me as accept_me
from .hooks import hash_password as hash_password
from .hooks import requires as requires
from .hooks import set_user_field as set_user_field
from .oauth import OAuthStrategy as OAuthStrategy
from .service import AuthenticationService as AuthenticationService
from .strategies import Strategy as Strategy
from .token_table import TableTokens as TableTokens
from .token_table import TokenMixin as TokenMixin
