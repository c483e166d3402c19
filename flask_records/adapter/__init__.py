"""The six methods over one SQLAlchemy model."""

import sqlalchemy as sa

if sa.__version__.startswith("1."):
    raise ImportError(
        "Flask-Records needs SQLAlchemy 2.0.22 or later, and models that run on it:"
        f" {sa.__version__} is installed."
    )

from .service import SQLAlchemyService as SQLAlchemyService  # noqa: E402
