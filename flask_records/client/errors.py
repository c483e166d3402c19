"""The errors that calls of a client raise, by the names that the server gives them.

.. code-block:: text

    RecordsError            any error of the server
    ├── BadRequest ...      one class for each name of errors
    └── Unreachable         no answer
"""

from __future__ import annotations

import typing as t


class RecordsError(Exception):
    """A call has failed.

    :param message: A message for people.
    :param code: The status of the answer. 0 if there is none.
    :param name: The name of the error on the wire. That of the class by default.
    :param data: Details of the error.
    :param errors: The problems by the names of fields.
    """

    def __init__(
        self,
        message: str,
        code: int = 0,
        *,
        name: str | None = None,
        data: t.Any = None,
        errors: t.Any = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        """A message for people."""
        self.code = code
        """The status of the answer. 0 if there is none."""
        self.name = type(self).__name__ if name is None else name
        """The name of the error on the wire."""
        self.data = data
        """Details of the error, or ``None``."""
        self.errors: t.Any = {} if errors is None else errors
        """The problems by the names of fields."""


class BadRequest(RecordsError):
    """The query or the data of the call is wrong."""


class NotAuthenticated(RecordsError):
    """The call needs a login."""


class PaymentError(RecordsError):
    """The call needs a payment."""


class Forbidden(RecordsError):
    """The caller may not make this call."""


class NotFound(RecordsError):
    """The record, or the page, does not exist."""


class MethodNotAllowed(RecordsError):
    """The service does not have the method, or not for many records."""


class NotAcceptable(RecordsError):
    """The response is not available in the requested format."""


class Timeout(RecordsError):
    """The call took too long."""


class Conflict(RecordsError):
    """The call conflicts with stored records, for example over a unique value."""


class Gone(RecordsError):
    """The record no longer exists."""


class LengthRequired(RecordsError):
    """The request must state the length of its body."""


class Unprocessable(RecordsError):
    """The data is well formed but not valid."""


class TooManyRequests(RecordsError):
    """The caller has sent too many requests."""


class GeneralError(RecordsError):
    """The server has failed unexpectedly."""


class NotImplementedError_(RecordsError):
    """The server does not support this. It is named ``NotImplemented`` on the wire."""


class BadGateway(RecordsError):
    """A server behind this one sent an invalid response."""


class Unavailable(RecordsError):
    """The server is temporarily unavailable."""


class Unreachable(RecordsError):
    """There is no answer. A call that writes may be done or not."""


ERRORS: t.Final = {error.__name__: error for error in RecordsError.__subclasses__()} | {
    "NotImplemented": NotImplementedError_
}
"""The classes by their names on the wire."""


def error_of(body: t.Any, status: int, text: str) -> RecordsError:
    """Return the error of an answer.

    :param body: The body, if it is JSON.
    :param text: The message where the body is not that of an error, for example
        because a proxy has answered.
    """
    if not isinstance(body, dict) or "className" not in body:
        return RecordsError(text, status)

    name = str(body.get("name"))
    error = ERRORS.get(name, RecordsError)
    message = str(body.get("message"))
    details = {"data": body.get("data"), "errors": body.get("errors")}
    return error(message, status, name=name, **details)
