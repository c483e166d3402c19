"""The services of an extension, with what belongs to each of them."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from flask import Blueprint

    from .authentication import AuthenticationService
    from .authentication.access import Access
    from .service import Service

T = t.TypeVar("T")


@dataclass(frozen=True)
class Registration:
    """A service of an extension, with what belongs to it."""

    service: Service
    """The service."""

    access: Access
    """Identifies its callers."""

    blueprint: Blueprint
    """Serves it over HTTP."""

    authentication: AuthenticationService | None
    """Its object, if that issues tokens."""

    media_types: tuple[str, ...]
    """The media types of bodies that it reads."""


class Registered(Mapping[str, T]):
    """One part of all registrations that have it, by path. It is a live view.

    :param registrations: The registrations by path.
    :param part: The name of the part.
    """

    def __init__(self, registrations: Mapping[str, Registration], part: str) -> None:
        self._registrations = registrations
        self._part = part

    def __getitem__(self, path: str) -> T:
        part = getattr(self._registrations[path], self._part)

        if part is None:
            raise KeyError(path)

        return t.cast(T, part)

    def __iter__(self) -> Iterator[str]:
        for path, registration in self._registrations.items():
            if getattr(registration, self._part) is not None:
                yield path

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Registrations(Mapping[str, Registration]):
    """The registrations of an extension by path, in the order of their addition."""

    def __init__(self) -> None:
        self._by_path: dict[str, Registration] = {}
        self.services: Mapping[str, Service] = Registered(self._by_path, "service")
        """The services by path."""
        self.authentications: Mapping[str, AuthenticationService] = Registered(
            self._by_path, "authentication"
        )
        """The authentication services by path."""
        self.first_authentication: AuthenticationService | None = None
        """The authentication service that was added first."""

    def __getitem__(self, path: str) -> Registration:
        return self._by_path[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_path)

    def __len__(self) -> int:
        return len(self._by_path)

    def add(self, registration: Registration) -> None:
        """Add a registration."""
        self._by_path[registration.service.path] = registration
        self.first_authentication = (
            self.first_authentication or registration.authentication
        )

    def free_path(self, path: str) -> str:
        """Return the path of a new service without slashes around it.

        :raises ValueError: The path is empty, or there is a service at it.
        """
        path = path.strip("/")

        if not path:
            raise ValueError("A service needs a path, such as 'messages'.")

        if path in self._by_path:
            raise ValueError(f"There is a service at '{path}' already.")

        return path

    def authentication(self, path: str | None) -> AuthenticationService | None:
        """Return an authentication service, if there is one.

        :param path: Its path, or ``None`` for the first.
        """
        if path is None:
            return self.first_authentication

        return self.authentications.get(path.strip("/"))
