"""The access tokens of users, from their issue to their end."""

from __future__ import annotations

import hmac
import re
import secrets
import time
import typing as t
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from ..errors import NotAuthenticated
from ..service.results import PrivateRecord
from .token_table import digest_of, fingerprint

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..service import Service
    from ..typing import Id, Record
    from .service import AuthenticationService

DAY: t.Final = 24 * 60 * 60

MAX_LENGTH: t.Final = 8192

MAX_TIME: t.Final = 2**53

MAX_VERIFIED: t.Final = 1024

CLAIMS: t.Final = ["iat", "exp", "aud", "iss", "sub", "jti"]
"""The claims that every token has."""

CLAIM: t.Final = "sid"
"""The claim of a token that names its session, if refresh tokens renew it."""

ENDING: t.Final = (CLAIM, "jti")
"""The claims by which a logout ends tokens, the one that counts first."""

NO_CLAIMS: t.Final[Mapping[str, t.Any]] = {}

PARSER_ERRORS: t.Final = (ValueError, OverflowError, TypeError, RecursionError)
"""The errors with which PyJWT ends for parts other than a token's JSON."""

EXPIRED: t.Final = "jwt expired"

NOT_ACTIVE: t.Final = "jwt not active"

INVALID: t.Final = "JsonWebTokenError"
"""The name of all other refusals."""

REFUSALS: t.Final = {
    "ExpiredSignatureError": EXPIRED,
    "ImmatureSignatureError": NOT_ACTIVE,
    "InvalidAlgorithmError": "invalid algorithm",
    "InvalidAudienceError": "jwt audience invalid. expected: {audience}",
    "InvalidIssuerError": "jwt issuer invalid. expected: {issuer}",
}
"""The messages for tokens that are not valid, by the names of PyJWT's errors."""

REASONS: t.Final = {EXPIRED: "TokenExpiredError", NOT_ACTIVE: "NotBeforeError"}
"""The names that ``jsonwebtoken`` has for refusals about a time, by the message."""

CLOCK_TOLERANCE: t.Final = 5
"""The seconds that the clocks of servers may differ, and that a call may take after it
has revoked the tokens of a user.
"""

RETENTION: t.Final = 60 * 60
"""The seconds that marks of sessions are kept after their tokens: clocks differ."""

TOKEN_ID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}")
"""A UUID of version 8. One half of it is random, the other is a fingerprint of the
users' path and of the password hash of the user.
"""

HEAD: t.Final = slice(18)
"""The random part of an identifier."""


@dataclass(frozen=True)
class Tokens:
    """Creates and verifies access tokens. See section 5.3 of the specification."""

    signing_key: t.Any = field(repr=False)
    """The key that signs new tokens: a secret, or a private key."""

    verifying_keys: tuple[t.Any, ...] = field(repr=False)
    """The keys that verify tokens. One of them has to."""

    algorithm: str = "HS256"
    """The one algorithm that is used and accepted."""

    audience: str = "https://yourdomain.com"
    """The audience of the tokens."""

    issuer: str = "feathers"
    """The issuer of the tokens."""

    lifetime: int = DAY
    """The number of seconds that a token is valid."""

    def create_token(
        self,
        subject: t.Any,
        *,
        token_id: str,
        not_before: int = 0,
        claims: Mapping[str, t.Any] = NO_CLAIMS,
    ) -> tuple[str, Record]:
        """Return a new token and its claims.

        :param not_before: The time of issue, if it is later than now.
        """
        # The import takes ten megabytes, which a process without tokens can save.
        import jwt

        issued_at = max(int(time.time()), not_before)
        payload = {
            **claims,
            "iat": issued_at,
            "exp": issued_at + self.lifetime,
            "aud": self.audience,
            "iss": self.issuer,
            "sub": str(subject),
            "jti": token_id,
        }
        token = jwt.encode(
            payload, self.signing_key, self.algorithm, headers={"typ": "access"}
        )
        return token, payload

    def verify_token(self, token: t.Any) -> Record:
        """Return the claims of a token.

        :raises NotAuthenticated: It is not a token of this issuer that is valid now.
        """
        _check_form(token)
        payload = dict(self._verified(token))

        if not payload.get("nbf", 0) <= time.time() < payload["exp"]:
            # The token has expired since it was verified. This raises the reason.
            self._verify(token)

        return payload

    def claims_of(self, token: t.Any) -> Record:
        """Return the claims of a token that may have expired.

        :raises NotAuthenticated: It is not a token of this issuer.
        """
        _check_form(token)
        return self._verify(token, is_expiry_checked=False)

    @cached_property
    def _verified(self) -> Callable[[str], Record]:
        return lru_cache(MAX_VERIFIED)(self._verify)

    def _verify(self, token: str, *, is_expiry_checked: bool = True) -> Record:
        import jwt

        for key in self.verifying_keys:
            try:
                return self._decode(key, token, is_expiry_checked)
            except jwt.InvalidSignatureError:
                continue
            except jwt.MissingRequiredClaimError as error:
                raise refused(f"jwt has no {error.claim}") from error
            except (jwt.InvalidTokenError, *PARSER_ERRORS) as error:
                message = REFUSALS.get(type(error).__name__, "invalid token")
                names = {"audience": self.audience, "issuer": self.issuer}
                raise refused(message.format(**names)) from error

        raise refused("invalid signature")

    def _decode(self, key: t.Any, token: str, is_expiry_checked: bool) -> Record:
        import jwt

        payload: Record = jwt.decode(
            token,
            key,
            algorithms=[self.algorithm],
            audience=self.audience,
            issuer=self.issuer,
            # Other servers of this interface use numbers as subjects, too, and clocks
            # differ.
            options={
                "require": CLAIMS,
                "verify_exp": is_expiry_checked,
                "verify_iat": False,
                "verify_sub": False,
            },
        )
        times = (payload["iat"], payload["exp"], payload.get("nbf", 0))

        # The library does not check these types.
        if type(payload["sub"]) not in (str, int) or not all(map(_is_time, times)):
            raise jwt.InvalidTokenError

        return payload


class UserTokens:
    """Issues tokens to users, finds the users of tokens, and revokes tokens: single
    ones, and all of a user that were issued until some time.
    """

    def __init__(self, service: AuthenticationService) -> None:
        self._service = service
        self._users = service.lookup
        self._store = service.token_store

    def create(
        self, user: Record | None, claims: Mapping[str, t.Any] = NO_CLAIMS
    ) -> tuple[str, Record]:
        """Return a new token and its claims. It depends on the password hash of the
        user.
        """
        if user is None:
            raise NotAuthenticated("A token is issued for a user only.")

        id = user[self._users.id]

        # Another hash than the one that a login has verified may be stored by now.
        hash = user.hash if isinstance(user, VerifiedUser) else self._stored_hash(id)
        digits = secrets.token_hex(8)
        head = f"{digits[:8]}-{digits[8:12]}-8{digits[13:]}"
        return self._service.settings.tokens.create_token(
            id,
            token_id=_token_id(head, self._users.path, hash),
            not_before=self.mark_of(id),
            claims=claims,
        )

    def user_of(self, payload: Record) -> Record:
        """Return the user that a token was issued for, as clients see them.

        :param payload: The claims of the token, verified now or some minutes ago.
        :raises NotAuthenticated: The token or its user has ended meanwhile.
        """
        return self.user_and_hash_of(payload)[0]

    def user_and_hash_of(self, payload: Record) -> tuple[Record, str | None]:
        """Return the user that a token was issued for, and the password hash that the
        token depends on.
        """
        if payload["exp"] <= time.time():
            raise refused(EXPIRED)

        user, record = self._load_unless_revoked(payload)
        id = user[self._users.id]

        # A database takes more than one text for the same number.
        if str(id) != str(payload["sub"]):
            raise refused("invalid token")

        hash = record.get(self._users.password)

        # Hooks may have changed the record, or returned an older one.
        if not self._depends_on(hash, payload):
            hash = self._stored_hash(id)

            if not self._depends_on(hash, payload):
                raise NotAuthenticated("jwt revoked")

        return user, hash

    def revoke(self, payload: Record) -> None:
        """Revoke one token, or all of its session, if there is a store."""
        if self._store is not None:
            # The latest token of the session may be a new one.
            latest = int(time.time()) + self._service.settings.tokens.lifetime
            until = max(int(payload.get("exp", 0)), latest) + RETENTION
            self._store.put_mark(_key_of_session(payload), MAX_TIME, until)

    def revoke_user(self, id: Id) -> None:
        """Revoke all tokens of a user that were issued until now, for good."""
        if self._store is None:
            raise RuntimeError(
                "Revoking tokens needs a store. Pass one to the authentication service:"
                " AuthenticationService(tokens=TableTokens(Token))."
            )

        # Later tokens state a time of issue that is not before the mark.
        mark = max(int(time.time()) + CLOCK_TOLERANCE, self.mark_of(id) + 1)
        self._store.put_mark(self._key_of(id), mark, MAX_TIME)

    def mark_of(self, id: Id) -> int:
        """Return the time from which on tokens of a user are valid, or 0."""
        return 0 if self._store is None else self._store.latest_mark(self._key_of(id))

    def _load_unless_revoked(self, payload: Record) -> tuple[Record, Record]:
        """Return the user of a token, as clients and as hooks see them."""
        if self._store is None:
            return self._users.load(payload["sub"])

        keys = _key_of_session(payload), self._key_of(payload["sub"])

        def check(mark: int | None) -> None:
            if payload["iat"] < (mark or 0):
                raise NotAuthenticated("jwt revoked")

        checked = self._store.checked_value(keys, check)
        loaded = self._users.load(payload["sub"], checked)

        # The users may be in another database, or be loaded in another way.
        if not checked.is_checked:
            check(self._store.latest_mark(*keys))

        return loaded

    def _stored_hash(self, id: Id) -> str | None:
        return self._users.credentials(id).get(self._users.password)

    def _depends_on(self, hash: str | None, payload: Record) -> bool:
        """Return whether a token was issued for a password hash."""
        token_id = payload["jti"]

        # Tokens of other servers depend on none.
        if TOKEN_ID.fullmatch(token_id) is None:
            return True

        expected = _token_id(token_id[HEAD], self._users.path, hash)
        return hmac.compare_digest(expected, token_id)

    def _key_of(self, id: Id) -> str:
        """Return the key of the tokens of a user of this path."""
        return digest_of(f"sub:{self._users.path}:{id}")


class VerifiedUser(PrivateRecord):
    """A user whose password was verified a moment ago."""

    __slots__ = ("hash",)

    def __init__(self, user: Record, service: Service, hash: str | None) -> None:
        super().__init__(user, service, getattr(user, "unseen", None))
        self.hash = hash
        """The hash, or ``None`` if the service of the users returns none."""


def refused(message: str) -> NotAuthenticated:
    """Return the error for a token, whose ``data`` names the reason for programs."""
    return NotAuthenticated(message, {"name": REASONS.get(message, INVALID)})


def _token_id(head: str, users: str, hash: str | None) -> str:
    # The salt of the hash is secret, so that the fingerprint reveals nothing about it.
    tag = fingerprint(head, users, hash)
    return f"{head}-8{tag[:3]}-{tag[3:15]}"


def _key_of_session(payload: Record) -> str:
    """Return the key of the tokens that end together, by the claims of one."""
    claim = next(claim for claim in ENDING if claim in payload)
    return digest_of(f"{claim}:{payload[claim]}")


def _check_form(token: t.Any) -> None:
    """Refuse what can't be a token."""
    if not isinstance(token, str):
        raise refused("jwt must be a string")

    if token.count(".") != 2 or len(token) > MAX_LENGTH:
        raise refused("jwt malformed")


def _is_time(value: t.Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= MAX_TIME
