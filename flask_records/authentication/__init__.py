"""Logins, tokens and passwords."""

from .hooks import accept_me as accept_me
from .hooks import hash_password as hash_password
from .hooks import requires as requires
from .hooks import set_user_field as set_user_field
from .oauth_strategy import OAuthStrategy as OAuthStrategy
from .revocations import RedisRevocations as RedisRevocations
from .revocations import RevocationStore as RevocationStore
from .revocations import RevokedTokenMixin as RevokedTokenMixin
from .revocations import TableRevocations as TableRevocations
from .service import AuthenticationService as AuthenticationService
from .strategies import Strategy as Strategy
