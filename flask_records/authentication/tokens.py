"""Signed access tokens."""

from __future__ import annotations

import hashlib
import threading
import time
import typing as t
from dataclasses import dataclass, field

from ..errors import NotAuthenticated

if t.TYPE_CHECKING:
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

BLOCK_SIZES: t.Final = {"sha256": 64, "sha384": 128, "sha512": 128}
"""The block sizes in bytes of the hashes that HMAC uses."""

PARSER_ERRORS: t.Final = (ValueError, OverflowError, TypeError, RecursionError)
"""The errors with which PyJWT ends for parts that are no JSON of a token."""

SCALARS = (str, int, float, type(None))

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

    _verified: VerifiedTokens = field(
        default_factory=lambda: VerifiedTokens(), init=False, repr=False, compare=False
    )

    def create_token(self, subject: t.Any, *, token_id: str) -> tuple[str, Record]:
        """Return a new token and its claims."""
        # It takes ten megabytes, which a process without tokens need not have.
        import jwt

        issued_at = int(time.time())
        payload = {
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

    def shares_keys_with(self, other: Tokens) -> bool:
        """Return whether both have the same audience and issuer, and share a key."""
        names, others = (self.audience, self.issuer), (other.audience, other.issuer)
        return names == others and not self._key_forms().isdisjoint(other._key_forms())

    def verify_token(self, token: t.Any) -> Record:
        """Return the claims of a token.

        :raises NotAuthenticated: It is not a token of this issuer that is valid now.
        """
        if not isinstance(token, str):
            raise NotAuthenticated("jwt must be a string")

        if token.count(".") != 2 or len(token) > MAX_LENGTH:
            raise NotAuthenticated("jwt malformed")

        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        payload = self._verified.find(digest)

        if payload is None:
            payload = self._decode(token)
            self._verified.add(digest, payload)

        return payload

    def _key_forms(self) -> set[bytes]:
        """Return forms of the keys. Keys that verify the same tokens share one."""
        return set().union(*map(_forms_of, self.verifying_keys))

    def _decode(self, token: str) -> Record:
        import jwt

        refusal: Exception = jwt.InvalidSignatureError()

        for key in self.verifying_keys:
            try:
                return self._decode_with(key, token)
            except jwt.InvalidSignatureError as error:
                refusal = error
            except (jwt.InvalidTokenError, *PARSER_ERRORS) as error:
                refusal = error
                break

        raise NotAuthenticated(self._message_of(refusal)) from refusal

    def _decode_with(self, key: t.Any, token: str) -> Record:
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
        texts = (payload["jti"], payload["sub"])

        # The library does not check all types.
        if (
            not all(map(_is_time, times))
            or not all(map(_is_text, texts))
            or isinstance(payload["jti"], int)
        ):
            raise jwt.InvalidTokenError

        return payload

    def _message_of(self, error: Exception) -> str:
        import jwt

        if isinstance(error, jwt.MissingRequiredClaimError):
            return f"jwt has no {error.claim}"

        message = REFUSALS.get(type(error).__name__, "invalid token")
        return message.format(audience=self.audience, issuer=self.issuer)


class VerifiedTokens:
    """Remembers the claims of valid tokens. The oldest makes room for a new one."""

    def __init__(self) -> None:
        self._payloads: dict[bytes, Record] = {}
        self._lock = threading.Lock()

    def find(self, digest: bytes) -> Record | None:
        """Return the claims of a token, or ``None`` if the token must be verified."""
        payload = self._payloads.get(digest)

        # Verifying one that is not valid any more tells the reason.
        if payload is None or not payload.get("nbf", 0) <= time.time() < payload["exp"]:
            return None

        return dict(payload)

    def add(self, digest: bytes, payload: Record) -> None:
        """Remember the claims of a token, unless one is mutable, such as a list."""
        if not all(isinstance(claim, SCALARS) for claim in payload.values()):
            return

        with self._lock:
            if len(self._payloads) >= MAX_VERIFIED:
                del self._payloads[next(iter(self._payloads))]

            self._payloads[digest] = dict(payload)


def _forms_of(key: t.Any) -> set[bytes]:
    if not isinstance(key, (str, bytes)):
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        form = PublicFormat.SubjectPublicKeyInfo
        return {key.public_bytes(Encoding.DER, form)}

    data = key.encode() if isinstance(key, str) else key
    # HMAC hashes a secret that is longer than a block, and pads it with zeros.
    forms = [
        hashlib.new(name, data).digest() if len(data) > block else data
        for name, block in BLOCK_SIZES.items()
    ]
    return {form.rstrip(b"\0") for form in (data, *forms)}


def _is_time(value: t.Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= MAX_TIME


def _is_text(value: t.Any) -> bool:
    """Return whether a value is text, or an integer, that a database can store."""
    try:
        str(value).encode()
    except UnicodeEncodeError:
        return False

    return type(value) in (str, int)
