"""The OpenAPI document of an application."""

from ..service.schemas import Schemas as Schemas
from .document import document as document
