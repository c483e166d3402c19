"""Logins, tokens and passwords."""

from .hashers import Hasher as Hasher
from .hooks import authenticate as authenticate
from .hooks import hash_password as hash_password
from .hooks import limit_to_user as limit_to_user
from .hooks import protect as protect
from .hooks import set_user_field as set_user_field
from .middleware import requires as requires
from .oauth_strategy import OAuthStrategy as OAuthStrategy
from .password_hashes import check_password_hash as check_password_hash
from .password_hashes import generate_password_hash as generate_password_hash
from .redis_revocations import RedisRevocations as RedisRevocations
from .revocation import RevocationStore as RevocationStore
from .service import AuthenticationService as AuthenticationService
from .strategies import Strategy as Strategy
from .table_revocations import RevokedTokenMixin as RevokedTokenMixin
from .table_revocations import TableRevocations as TableRevocations
