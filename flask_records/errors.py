"""The errors that a client can see.

.. code-block:: text

    werkzeug.exceptions.HTTPException
    └── RecordsError
        ├── BadRequest            400
        ├── NotAuthenticated      401
        ├── PaymentError          402
        ├── Forbidden             403
        ├── NotFound              404
        ├── MethodNotAllowed      405
        ├── NotAcceptable         406
        ├── Timeout               408
        ├── Conflict              409
        ├── Gone                  410
        ├── LengthRequired        411
        ├── Unprocessable         422
        ├── TooManyRequests       429
        ├── GeneralError          500
        ├── NotImplementedError_  501, named ``NotImplemented`` on the wire
        ├── BadGateway            502
        ├── Unavailable           503
        └── ForeignError          any other, named by Werkzeug

None of them derives from Werkzeug's exception of the same status, so that the error
pages of the host application stay its own.
"""

from __future__ import annotations

import re
import typing as t

from werkzeug.exceptions import HTTPException

from .problems import add_codes

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

WORD_START = re.compile(r"(?<!^)(?=[A-Z])")

CLASS_NAME: t.Final = "className"
"""The key in the JSON of an error that has its class, such as ``bad-request``."""

SHOWN_STATEMENT = re.compile("near '.*", re.DOTALL)
"""The part of a statement that MariaDB shows."""


class RecordsError(HTTPException):
    """An error of a call, as a client sees it. Raise one of its subclasses to refuse
    a call. See sections 7.5 to 7.9 of the specification.

    :param message: A message for people. ``"Error"`` by default.
    :param data: Details of the error, as JSON. Left out of the response by default.
    :param errors: The problems by the name of the field: phrases, or
        :class:`.Problem`. Empty by default.
    """

    code: int | None = 500
    name = "RecordsError"
    """The name of the class on the wire, for example ``"BadRequest"``."""

    def __init_subclass__(cls, code: int | None = None, name: str = "") -> None:
        cls.code = code or cls.code

        if "name" not in vars(cls):
            cls.name = name or cls.__name__

    def __init__(
        self,
        message: str | None = None,
        data: t.Any = None,
        errors: Mapping[str, t.Any] | Iterable[t.Any] | None = None,
    ) -> None:
        self.message = "Error" if message is None else message
        """A message for people."""
        self.data = data
        """Details of the error, or ``None``."""
        self.errors = {} if errors is None else errors
        """The errors by the name of the field."""
        self.headers: dict[str, str] = {}
        """HTTP headers of the response, for example ``Retry-After``."""
        super().__init__(self.message)

    def __str__(self) -> str:
        # The message may be a lazy string of a translation.
        return str(self.message)

    @property
    def class_name(self) -> str:
        """The name in kebab case, for example ``"bad-request"``."""
        return WORD_START.sub("-", self.name).lower()

    def to_dict(self, *, codes: bool = False) -> dict[str, t.Any]:
        """Return the body of the response: ``name``, ``message``, ``code``,
        ``className``, ``errors``, and ``data`` if there is any. Never a traceback.

        :param codes: Send the codes of the problems in ``errors``, too.
        """
        body = {
            "name": self.name,
            "message": self.message,
            "code": self.code,
            CLASS_NAME: self.class_name,
            "errors": add_codes(self.errors) if codes else self.errors,
        }

        if self.data is not None:
            body["data"] = self.data

        return body


class BadRequest(RecordsError, code=400):
    """The query or the data of the call is wrong."""


class NotAuthenticated(RecordsError, code=401):
    """The call needs a login."""


class PaymentError(RecordsError, code=402):
    """The call needs a payment."""


class Forbidden(RecordsError, code=403):
    """The caller may not make this call."""


class NotFound(RecordsError, code=404):
    """The record, or the page, does not exist."""


class MethodNotAllowed(RecordsError, code=405):
    """The service does not have the method, or not for many records."""


class NotAcceptable(RecordsError, code=406):
    """The response is not available in the requested format."""


class Timeout(RecordsError, code=408):
    """The call took too long."""


class Conflict(RecordsError, code=409):
    """The call conflicts with stored records, for example over a unique value."""


class Gone(RecordsError, code=410):
    """The record no longer exists."""


class LengthRequired(RecordsError, code=411):
    """The request must state the length of its body."""


class Unprocessable(RecordsError, code=422):
    """The data is well formed but not valid."""


class TooManyRequests(RecordsError, code=429):
    """The caller has sent too many requests."""


class GeneralError(RecordsError, code=500):
    """The server has failed unexpectedly."""


# Python has a constant of the name on the wire.
class NotImplementedError_(RecordsError, code=501, name="NotImplemented"):
    """The server does not support this."""


class BadGateway(RecordsError, code=502):
    """A server behind this one sent an invalid response."""


class Unavailable(RecordsError, code=503):
    """The server is temporarily unavailable. The response asks the client to try again
    in a second, unless its ``headers`` have another ``Retry-After``.
    """

    def __init__(self, *args: t.Any, **options: t.Any) -> None:
        super().__init__(*args, **options)
        self.headers["Retry-After"] = "1"


ERRORS = {error.code: error for error in RecordsError.__subclasses__()}
"""The class of each status."""


class ForeignError(RecordsError):
    """An HTTP error of a status that has no class of its own here, such as 413."""

    def __init__(self, error: HTTPException, message: str | None) -> None:
        super().__init__(message)
        self.code = error.code
        self.name = type(error).__name__


def to_records_error(error: Exception, *, debug: bool = False) -> RecordsError:
    """Return any error as a client sees it: Werkzeug's with its status and message, all
    others as a :class:`GeneralError` that shows its message in ``debug`` alone.
    """
    if isinstance(error, RecordsError):
        return error

    if not isinstance(error, HTTPException):
        return GeneralError(str(error) if debug else "Internal server error")

    error_class = ERRORS.get(error.code or 500)
    # Applications and extensions give objects, too, such as a lazy string.
    message = None if error.description is None else str(error.description)
    result = error_class(message) if error_class else ForeignError(error, message)
    result.headers = dict(error.get_headers())
    result.headers.pop("Content-Type", None)
    return result


def not_an_object(method: str) -> BadRequest:
    """Return the error of a call whose data is not an object."""
    return BadRequest(f"First parameter for '{method}' must be an object")


def is_answer(error: Exception) -> bool:
    """Return whether an exception is a response, such as a redirect, not an error."""
    return (
        isinstance(error, HTTPException)
        and not isinstance(error, RecordsError)
        and (error.response is not None or error.code is None or error.code < 400)
    )


def without_parameters(error: BaseException) -> BaseException:
    """Return an error without values sent to a database, in its causes either."""
    ids: set[int] = set()
    causes: list[BaseException | None] = [error]

    while causes:
        cause = causes.pop()

        if cause is not None and id(cause) not in ids:
            ids.add(id(cause))
            causes += [cause.__cause__, cause.__context__]
            cause.args = tuple(
                SHOWN_STATEMENT.sub("near ...", part) if isinstance(part, str) else part
                for part in cause.args
            )

            if hasattr(cause, "hide_parameters"):
                cause.hide_parameters = True

    return error
