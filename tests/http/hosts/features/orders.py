from __future__ import annotations

import sqlalchemy as sa
from flask import Blueprint
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column
from sqlalchemy.orm import relationship

from flask_records import SQLAlchemyService

from . import db

views = Blueprint("orders", __name__)


class Order(db.Model):
    __tablename__ = "feature_order"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(sa.String(80))
    customer_id: Mapped[int] = mapped_column(sa.ForeignKey("feature_customer.id"))
    # The other feature is imported later.
    customer = relationship("Customer", back_populates="orders")


service = SQLAlchemyService(Order, whitelist=["$populate"])


@views.get("/orders")
def listed():
    return list(db.session.scalars(sa.select(Order.title).order_by(Order.id)))
