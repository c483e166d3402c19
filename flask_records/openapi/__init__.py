"""The OpenAPI document of an application."""

from .document import document as document
from .schemas import Schemas as Schemas
