from __future__ import annotations

import sqlalchemy as sa
from flask import Blueprint
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column
from sqlalchemy.orm import relationship

from flask_records import SQLAlchemyService

from . import db
from .orders import Order

views = Blueprint("customers", __name__)


class Customer(db.Model):
    __tablename__ = "feature_customer"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(80))
    orders = relationship(Order, back_populates="customer")


service = SQLAlchemyService(Customer, whitelist=["$populate"])


@views.get("/customers/<int:id>/orders")
def orders_of(id):
    return [order.title for order in db.get_or_404(Customer, id).orders]
