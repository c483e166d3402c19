"""The six methods over one SQLAlchemy model."""

from .service import SQLAlchemyService as SQLAlchemyService
