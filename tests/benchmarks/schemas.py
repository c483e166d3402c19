"""Times calls with a schema against the same without, and the validation alone.

Run ``python -m tests.benchmarks.schemas``. The cost of a schema is what a call takes
more with it, in parts of what a call takes more with a before hook that does
``Body.model_validate(data)``, or that and a ``model_dump()``. Alone, without a call
around it, a validation takes two thirds of that. Bodies are created by an object that
does nothing, in this process.
"""

import datetime as dt
import uuid
from decimal import Decimal
from time import process_time

from flask import Flask
from pydantic import BaseModel, Field

from flask_records import FlaskRecords, Params
from flask_records.service.context import HookContext

NUMBER = 2_000
ROUNDS = 15


class Address(BaseModel):
    street: str = Field(max_length=100)
    zip: str = Field(pattern="^[0-9]{5}$")


class Flat(BaseModel):
    name: str = Field(min_length=1, max_length=100)
    email: str = Field(max_length=254, pattern="^[^@ ]+@[^@ ]+$")
    born: dt.date
    seen: dt.datetime
    salary: Decimal = Field(ge=0)
    key: uuid.UUID
    stars: int = Field(default=0, le=5)
    note: str | None = None


class Nested(Flat):
    addresses: list[Address]


FLAT = {
    "name": "Ann",
    "email": "ann@example.com",
    "born": "2000-01-01",
    "seen": "2026-01-01T12:00:00Z",
    "salary": "1000.50",
    "key": "6f1f6c0e-5b5e-4c39-8a3e-0f6f8c1f5b0a",
    "stars": 3,
    "note": "x",
}
NESTED = FLAT | {"addresses": [{"street": "A Street 1", "zip": "12345"}] * 3}


class Things:
    def create(self, data, params):
        return None


def call_of(records, path, data, schemas=None, hook=None):
    """A function that calls a service as a client does."""
    service = records.add(path, Things(), schemas=schemas, public=True)

    if hook is not None:
        service.before("create")(hook)

    def call():
        params = Params(provider="rest")
        service.call(HookContext(service, "create", params, None, dict(data)))

    return call


def validated_by(model):
    """A hook that validates a body, and leaves it as it is."""

    def check(method, context):
        model.model_validate(context.data)

    return check


def checked_by(model):
    """A hook that checks a body as an application does without schemas."""

    def check(method, context):
        context.data = model.model_validate(context.data).model_dump()

    return check


def microseconds(functions):
    """The least time of each function, all measured in turns."""
    least = [float("inf")] * len(functions)

    for _ in range(ROUNDS):
        for index, function in enumerate(functions):
            start = process_time()

            for _ in range(NUMBER):
                function()

            taken = (process_time() - start) / NUMBER * 1e6
            least[index] = min(least[index], taken)

    return least


def main():
    records = FlaskRecords()
    app = Flask("benchmark")
    records.init_app(app)
    print(f"{'':8}{'without':>9}{'schema':>8}{'validate':>10}{'dump':>7}{'alone':>7}")

    with app.app_context():
        for name, model, data in (("flat", Flat, FLAT), ("nested", Nested, NESTED)):
            times = microseconds(
                [
                    call_of(records, f"{name}/plain", data),
                    call_of(records, f"{name}/checked", data, {"create": model}),
                    call_of(records, f"{name}/valid", data, hook=validated_by(model)),
                    call_of(records, f"{name}/hook", data, hook=checked_by(model)),
                    lambda model=model, data=data: model.model_validate(data),
                ]
            )
            plain, checked, validated, hooked, alone = times
            cost = checked - plain
            print(
                f"{name:8}{plain:9.1f}{checked:8.1f}{validated:10.1f}{hooked:7.1f}"
                f"{alone:7.1f}  a schema: {cost / (validated - plain):.2f} of validate,"
                f" {cost / (hooked - plain):.2f} of that with a dump"
            )


if __name__ == "__main__":
    main()
