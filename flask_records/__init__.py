"""Record services for Flask, over HTTP, in the manner of FeathersJS."""

from .adapter import SQLAlchemyService
from .authentication import (
    accept_me,
    ApiKeyMixin,
    ApiKeys,
    AuthenticationService,
    hash_password,
    OAuthStrategy,
    requires,
    set_user_field,
    Strategy,
    TableTokens,
    TokenMixin,
)
from .database.transaction import Transaction
from .errors import (
    BadGateway,
    BadRequest,
    Conflict,
    Forbidden,
    GeneralError,
    Gone,
    LengthRequired,
    MethodNotAllowed,
    NotAcceptable,
    NotAuthenticated,
    NotFound,
    NotImplementedError_,
    PaymentError,
    RecordsError,
    Timeout,
    TooManyRequests,
    Unavailable,
    Unprocessable,
)
from .extension import current_records, FlaskRecords
from .http.body import (
    BODY_PARSERS,
    MultipartParser,
    parse_form,
    parse_json,
    StreamParser,
)
from .http.formatter import format_json, format_pieces
from .http.qs import parse as parse_query
from .pagination import Page
from .problems import Problem
from .query import Change, Converter, FromRecord, FromUser, Operator, readers
from .readiness import ready
from .service import Service
from .service.context import HookContext, NO_RESULT, Params, restrict
from .service.globals import current_call

__all__ = [
    "accept_me",
    "ApiKeyMixin",
    "ApiKeys",
    "AuthenticationService",
    "BadGateway",
    "BadRequest",
    "BODY_PARSERS",
    "Change",
    "Conflict",
    "Converter",
    "current_call",
    "current_records",
    "FlaskRecords",
    "Forbidden",
    "format_json",
    "format_pieces",
    "FromRecord",
    "FromUser",
    "GeneralError",
    "Gone",
    "hash_password",
    "HookContext",
    "LengthRequired",
    "MethodNotAllowed",
    "MultipartParser",
    "NO_RESULT",
    "NotAcceptable",
    "NotAuthenticated",
    "NotFound",
    "NotImplementedError_",
    "OAuthStrategy",
    "Operator",
    "Page",
    "Params",
    "parse_form",
    "parse_json",
    "parse_query",
    "PaymentError",
    "Problem",
    "readers",
    "ready",
    "RecordsError",
    "requires",
    "restrict",
    "Service",
    "set_user_field",
    "SQLAlchemyService",
    "Strategy",
    "StreamParser",
    "TableTokens",
    "Timeout",
    "TokenMixin",
    "TooManyRequests",
    "Transaction",
    "Unavailable",
    "Unprocessable",
]
