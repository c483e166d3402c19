"""Access tokens: made, signed and verified."""

from __future__ import annotations

import hashlib
import threading
import time
import typing as t
from dataclasses import dataclass
from dataclasses import field

import jwt

from ..errors import NotAuthenticated

if t.TYPE_CHECKING:
    from ..typing import Record

DAY: t.Final = 24 * 60 * 60

MAX_LENGTH: t.Final = 8192
"""How many characters a token has at most."""

MAX_TIME: t.Final = 2**53
"""The latest time that is understood, in seconds since 1970."""

MAX_VERIFIED: t.Final = 1024
"""How many tokens are remembered as verified."""

CLAIMS: t.Final = ("iat", "exp", "aud", "iss", "sub", "jti")
"""What every token says."""

BLOCKS: t.Final = {"sha256": 64, "sha384": 128, "sha512": 128}
"""The hashes of the algorithms that sign with a secret, and their blocks in bytes."""

SCALARS = (str, int, float, type(None))

REFUSALS: dict[type[jwt.InvalidTokenError], str] = {
    jwt.ExpiredSignatureError: "jwt expired",
    jwt.ImmatureSignatureError: "jwt not active",
    jwt.InvalidSignatureError: "invalid signature",
    jwt.InvalidAlgorithmError: "invalid algorithm",
    jwt.InvalidAudienceError: "jwt audience invalid. expected: {audience}",
    jwt.InvalidIssuerError: "jwt issuer invalid. expected: {issuer}",
}
"""What is said of a token that is not valid."""


@dataclass(frozen=True)
class Tokens:
    """Makes access tokens for users and verifies those that clients send. See section
    5.3 of the specification.
    """

    signing_key: t.Any
    """What new tokens are signed with: a secret, or a private key."""

    verifying_keys: tuple[t.Any, ...]
    """What tokens are verified with, one after the other."""

    algorithm: str = "HS256"
    """The one algorithm that is used and accepted."""

    audience: str = "https://yourdomain.com"
    """Who the tokens are for."""

    issuer: str = "feathers"
    """Who issues them."""

    lifetime: int = DAY
    """How many seconds a token is valid."""

    _verified: VerifiedTokens = field(
        default_factory=lambda: VerifiedTokens(), init=False, repr=False, compare=False
    )

    def create_token(
        self, subject: t.Any, *, token_id: str, issued_at: int = 0
    ) -> tuple[str, Record]:
        """Return a new token and what it says.

        :param subject: The identifier of the user, which becomes text.
        :param token_id: The identifier of the token.
        :param issued_at: The time since 1970 in seconds, if that is later than now.
        """
        issued_at = max(int(time.time()), issued_at)
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
        """Return whether one verifies what the other signs, for the same audience and
        issuer.

        :param other: Another maker of tokens.
        """
        names, others = (self.audience, self.issuer), (other.audience, other.issuer)
        return names == others and not self._key_forms().isdisjoint(other._key_forms())

    def verify_token(self, token: t.Any) -> Record:
        """Return what a token says.

        :param token: What a client sent.
        :raises NotAuthenticated: It is not a token of ours that is valid now.
        """
        if not isinstance(token, str):
            raise NotAuthenticated("jwt must be a string")

        if token.count(".") != 2 or len(token) > MAX_LENGTH:
            raise NotAuthenticated("jwt malformed")

        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        known = self._verified.find(digest)

        if known is not None:
            return known

        payload = self._decode(token)

        # Not all of it is looked at where the signature is right.
        times = (payload["iat"], payload["exp"], payload.get("nbf", 0))

        if not all(map(_is_time, times)) or not _is_text(
            payload["jti"], payload["sub"]
        ):
            raise NotAuthenticated("invalid token")

        self._verified.add(digest, payload)
        return payload

    def _key_forms(self) -> set[bytes]:
        """Return what is the same for keys that verify the same tokens."""
        forms: set[bytes] = set()

        for key in self.verifying_keys:
            if isinstance(key, (str, bytes)):
                forms.update(_secret_forms(key))
            else:
                forms.add(_public_form(key))

        return forms

    def _decode(self, token: str) -> Record:
        refused: Exception = jwt.InvalidSignatureError()

        for key in self.verifying_keys:
            try:
                return self._decode_with(key, token)
            except jwt.InvalidSignatureError as error:
                refused = error
            except (jwt.InvalidTokenError, ValueError, OverflowError) as error:
                refused = error
                break

        raise NotAuthenticated(self._refusal(refused)) from refused

    def _decode_with(self, key: t.Any, token: str) -> Record:
        return jwt.decode(
            token,
            key,
            algorithms=[self.algorithm],
            audience=self.audience,
            issuer=self.issuer,
            # Other servers of this interface issue the subject as a number, too, and
            # clocks differ.
            options={
                "require": list(CLAIMS),
                "verify_iat": False,
                "verify_sub": False,
            },
        )

    def _refusal(self, error: Exception) -> str:
        if isinstance(error, jwt.MissingRequiredClaimError):
            return f"jwt has no {error.claim}"

        for kind, message in REFUSALS.items():
            if isinstance(error, kind):
                return message.format(audience=self.audience, issuer=self.issuer)

        return "invalid token"


class VerifiedTokens:
    """Remembers the claims of tokens whose signature was verified, by the digests of
    the tokens, for as long as they are valid. Of too many, the oldest goes.
    """

    def __init__(self) -> None:
        self._payloads: dict[bytes, Record] = {}
        self._lock = threading.Lock()

    def find(self, digest: bytes) -> Record | None:
        """Return the claims of a token, or ``None`` if it has to be verified.

        :param digest: The digest of the token.
        """
        payload = self._payloads.get(digest)

        # One that is not valid any more is refused by those who say why.
        if payload is None or not _is_current(payload):
            return None

        return dict(payload)

    def add(self, digest: bytes, payload: Record) -> None:
        """Remember a token.

        :param digest: The digest of the token.
        :param payload: Its claims. Those that a caller could change are not remembered.
        """
        if not all(isinstance(claim, SCALARS) for claim in payload.values()):
            return

        with self._lock:
            if len(self._payloads) >= MAX_VERIFIED:
                del self._payloads[next(iter(self._payloads))]

            self._payloads[digest] = dict(payload)


def _is_current(payload: Record) -> bool:
    now = time.time()
    return bool(payload.get("nbf", 0) <= now < payload["exp"])


def _secret_forms(secret: str | bytes) -> set[bytes]:
    """Return a secret as HMAC takes it: hashed if it is longer than a block, and filled
    with zeros.
    """
    data = secret.encode() if isinstance(secret, str) else secret
    forms = [
        hashlib.new(name, data).digest() if len(data) > block else data
        for name, block in BLOCKS.items()
    ]
    return {form.rstrip(b"\0") for form in (data, *forms)}


def _public_form(key: t.Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding
    from cryptography.hazmat.primitives.serialization import PublicFormat

    form = PublicFormat.SubjectPublicKeyInfo
    return t.cast("bytes", key.public_bytes(Encoding.DER, form))


def _is_time(value: t.Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= MAX_TIME


def _is_text(*values: t.Any) -> bool:
    """Return whether values are text, or whole numbers, that a database can hold."""
    try:
        "".join(map(str, values)).encode()
    except UnicodeEncodeError:
        return False

    return all(type(value) in (str, int) for value in values)
