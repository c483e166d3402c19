"""Forms with files, parsed while they are read."""

from __future__ import annotations

import typing as t
from contextlib import ExitStack
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from urllib.parse import urlencode

from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.formparser import FormDataParser

from ..errors import BadRequest
from ..settings import is_positive
from .qs import PARAMETER_LIMIT
from .qs import parse
from .streams import broken_body
from .streams import limit_of
from .streams import limit_stream
from .streams import read

if t.TYPE_CHECKING:
    from flask import Request
    from werkzeug.datastructures import FileStorage

    Parts: t.TypeAlias = list[tuple[str, "str | FileStorage"]]

MULTIPART: t.Final = "multipart/form-data"

MEMORY: t.Final = 64 * 1024
"""The number of bytes of a file that are kept in memory. The rest is on disk."""

BUFFER: t.Final = 128 * 1024
"""The number of bytes that Werkzeug may hold while it looks for the end of a part."""

LEAST: t.Final = {"max_size": 1, "max_parts": 1, "max_field_size": BUFFER}
"""The least values of options."""

TOO_LARGE: t.Final = """\
The form is too large: it has at most {size} bytes, {parts} parts, and {field} bytes \
in a field that is not a file.\
"""


NO_FORM: t.Final = """\
The body is not a form, or not all of it. Check its boundary and the names of its \
parts.\
"""


@dataclass(frozen=True)
class MultipartParser:
    """A parser of ``multipart/form-data``: texts as in other forms, and files as
    Werkzeug's ``FileStorage``. They are closed, and deleted, after the request.

    .. code-block:: python

        uploads = records.add(
            "uploads",
            Uploads(),
            body_parsers={"multipart/form-data": MultipartParser(10 * 1024 * 1024)},
        )

    :raises ValueError: A number is not a positive integer, or too small.
    """

    max_size: int | None = None
    """The maximum size of the whole form in bytes, in place of that of the application,
    which is 1 MiB by default.
    """

    max_parts: int = 100
    """The maximum number of fields and files."""

    max_field_size: int = BUFFER
    """The maximum size of a field that is not a file, in bytes. Not less than the
    default.
    """

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            value = getattr(self, name)

            if (name, value) == ("max_size", None):
                continue

            if not is_positive(value) or value < least:
                raise ValueError(
                    f"'{name}' must be an integer of {least} or more, not {value!r}."
                )

        if self.max_parts > PARAMETER_LIMIT:
            raise ValueError(f"'max_parts' must be at most {PARAMETER_LIMIT}.")

    def __call__(self, request: Request) -> dict[str, t.Any]:
        """Return the data of a form. Names are read as in other forms, and a file
        input without a file is left out.

        :raises BadRequest: The body is not a form, or is not there to its end.
        :raises RequestEntityTooLarge: The form is too large.
        """
        # HTTP middleware may have read the form already.
        if "form" not in vars(request):
            self._load(request)
        elif not (request.form or request.files):
            raise broken_body()

        parts = _parts_of(request)
        # The parser of names knows texts only: each part goes by its place.
        names = [(name, str(place)) for place, (name, _) in enumerate(parts)]
        places = parse(urlencode(names), array_limit=PARAMETER_LIMIT)
        return t.cast("dict[str, t.Any]", _with_values(places, parts))

    def _load(self, request: Request) -> None:
        """Parse the form, and keep it with the request, which closes its files."""
        limit = limit_of(request, self.max_size)

        with ExitStack() as opened:
            form, files = self._parsed(request, limit, opened)
            opened.pop_all()

        vars(request).update(form=form, files=files)

    def _parsed(self, request: Request, limit: int, opened: ExitStack) -> t.Any:
        """Return the fields and the files of a form.

        :param opened: It gets the files, also those of a form that is refused.
        """

        def open_file(*args: t.Any, **options: t.Any) -> t.Any:
            return opened.enter_context(SpooledTemporaryFile(MEMORY, "rb+"))

        parser = FormDataParser(
            open_file,
            max_form_memory_size=self.max_field_size,
            max_form_parts=self.max_parts,
            cls=request.parameter_storage_class,
            silent=False,
        )

        try:
            limit_stream(request, limit)
            stream = t.cast("t.IO[bytes]", _Counted(request.stream, limit))
            length, options = request.content_length, request.mimetype_params
            _, form, files = parser.parse(stream, MULTIPART, length, options)

            sizes = [len(value) for _, value in form.items(multi=True)]

            # Older versions of Werkzeug do not add up the parts of a field.
            if max(sizes, default=0) > self.max_field_size:
                raise RequestEntityTooLarge

            return form, files
        except RequestEntityTooLarge as error:
            bounds = {"parts": self.max_parts, "field": self.max_field_size}
            message = TOO_LARGE.format(size=limit, **bounds)
            raise RequestEntityTooLarge(message) from error
        except ValueError as error:
            raise BadRequest(NO_FORM) from error


class _Counted:
    """A stream that ends in an error after a number of bytes, or where the client
    breaks off.
    """

    def __init__(self, stream: t.IO[bytes], limit: int) -> None:
        self._stream = stream
        self._left = limit

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes.

        :raises BadRequest: The connection is broken.
        :raises RequestEntityTooLarge: There are too many.
        """
        data = read(self._stream.read, size)
        self._left -= len(data)

        if self._left < 0:
            raise RequestEntityTooLarge

        return data


def _parts_of(request: Request) -> Parts:
    """Return the fields and the files of a form, with their names.

    :raises BadRequest: A part has no name.
    """
    parts: Parts = [
        *request.form.items(multi=True),
        *[each for each in request.files.items(multi=True) if each[1].filename],
    ]

    if not all(name for name, _ in parts):
        raise BadRequest("A part of the form has no name.")

    return parts


def _with_values(places: t.Any, parts: Parts) -> t.Any:
    """Return a structure with the values of parts instead of their places."""
    if isinstance(places, dict):
        return {name: _with_values(place, parts) for name, place in places.items()}

    if isinstance(places, list):
        return [_with_values(place, parts) for place in places]

    return parts[int(places)][1]
