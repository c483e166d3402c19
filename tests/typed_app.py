"""The example, and a service with a custom method and a custom event."""

from __future__ import annotations

from pydantic import BaseModel

from wsgi import create_app, realtime, records, rooms


class Place(BaseModel):
    """The room in which a user is typing."""

    roomId: int


class Typists:
    def tell(self, data, params):
        """Tell the others that the caller is typing in a room."""
        room = rooms.get(data["roomId"])
        event = {"roomId": room["id"], "userId": params.user_id}
        typists.emit("typing", event)
        return event


typists = records.add(
    "typists", Typists(), methods=["tell"], events=["typing"], schemas={"tell": Place}
)
app = create_app()
asgi = realtime.asgi(app)
