"""Access tokens, signed and verified."""

from __future__ import annotations

import time
import typing as t
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from ..errors import NotAuthenticated

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..typing import Record

DAY: t.Final = 24 * 60 * 60

MAX_LENGTH: t.Final = 8192
"""The number of characters of the longest token that is accepted."""

MAX_TIME: t.Final = 2**53
"""The latest time that is accepted, in seconds since 1970."""

MAX_VERIFIED: t.Final = 1024
"""The number of verified tokens that are remembered."""

CLAIMS: t.Final = ["iat", "exp", "aud", "iss", "sub", "jti"]
"""The claims that every token has."""

NO_CLAIMS: t.Final[Mapping[str, t.Any]] = {}

PARSER_ERRORS: t.Final = (ValueError, OverflowError, TypeError, RecursionError)
"""The errors with which PyJWT ends for parts that are no JSON of a token."""

REFUSALS: t.Final = {
    "ExpiredSignatureError": "jwt expired",
    "ImmatureSignatureError": "jwt not active",
    "InvalidSignatureError": "invalid signature",
    "InvalidAlgorithmError": "invalid algorithm",
    "InvalidAudienceError": "jwt audience invalid. expected: {audience}",
    "InvalidIssuerError": "jwt issuer invalid. expected: {issuer}",
}
"""The messages for tokens that are not valid, by the names of PyJWT's errors."""


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
        :param claims: Claims besides those that every token has.
        """
        # It takes ten megabytes, which a process without tokens need not have.
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
        if not isinstance(token, str):
            raise NotAuthenticated("jwt must be a string")

        if token.count(".") != 2 or len(token) > MAX_LENGTH:
            raise NotAuthenticated("jwt malformed")

        payload = dict(self._verified(token))

        if not payload.get("nbf", 0) <= time.time() < payload["exp"]:
            # It has expired since it was verified. This tells the reason.
            self._verify(token)

        return payload

    @cached_property
    def _verified(self) -> Callable[[str], Record]:
        return lru_cache(MAX_VERIFIED)(self._verify)

    def _verify(self, token: str) -> Record:
        import jwt

        refusal: Exception = jwt.InvalidSignatureError()

        for key in self.verifying_keys:
            try:
                return self._decode(key, token)
            except jwt.InvalidSignatureError as error:
                refusal = error
            except (jwt.InvalidTokenError, *PARSER_ERRORS) as error:
                refusal = error
                break

        raise NotAuthenticated(self._message_of(refusal)) from refusal

    def _decode(self, key: t.Any, token: str) -> Record:
        import jwt

        payload: Record = jwt.decode(
            token,
            key,
            algorithms=[self.algorithm],
            audience=self.audience,
            issuer=self.issuer,
            # Other servers of this interface use numbers as subjects, too, and clocks
            # differ.
            options={"require": CLAIMS, "verify_iat": False, "verify_sub": False},
        )
        times = (payload["iat"], payload["exp"], payload.get("nbf", 0))
        is_subject = type(payload["sub"]) in (str, int)

        # The library does not check all types.
        if not (
            all(map(_is_time, times)) and is_subject and isinstance(payload["jti"], str)
        ):
            raise jwt.InvalidTokenError

        return payload

    def _message_of(self, error: Exception) -> str:
        import jwt

        if isinstance(error, jwt.MissingRequiredClaimError):
            return f"jwt has no {error.claim}"

        message = REFUSALS.get(type(error).__name__, "invalid token")
        return message.format(audience=self.audience, issuer=self.issuer)


def _is_time(value: t.Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= MAX_TIME
