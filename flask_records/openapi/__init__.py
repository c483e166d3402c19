"""The OpenAPI document of an application."""

from .document import document as document
