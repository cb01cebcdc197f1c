"""Messages between agents of a team (engine.md 1.2; formats.md 1.6.6)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, TypeAlias, cast

from oma_desktop.engine.tools.race import guarded_call
from oma_desktop.model.checkpoint import MessageBusSnapshot
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.json_value import JsonObject

EVERYONE: Final = "*"
log = logging.getLogger(__name__)


Listener: TypeAlias = Callable[[JsonObject], None]


class MessageBus:
    """All messages in order, and who has read what. Messages are never changed once sent.

    Listeners hear a message while it is sent; they are never saved, and stay over a `restore`.
    """

    def __init__(self, *, now: Callable[[], str], new_id: Callable[[], str]) -> None:
        self._now = now
        self._new_id = new_id
        self._messages: list[JsonObject] = []
        self._read: dict[str, list[str]] = {}
        self._listeners: list[Listener] = []

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Add a listener; returns a function that removes it. What it raises stops nobody."""
        self._listeners.append(listener)

        def forget() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return forget

    def send(self, sender: str, to: str, content: str) -> JsonObject:
        """Send to one agent, or to everyone but the sender with `*`.

        Tools of others call this: raises TypeError for what a checkpoint could not hold.
        """
        if not (isinstance(to, str) and isinstance(content, str)):
            raise TypeError("a message has a receiver and a text")
        message: JsonObject = {
            "id": self._new_id(),
            "from": sender,
            "to": to,
            "content": content,
            "timestamp": self._now(),
        }
        self._messages.append(message)
        for listener in list(self._listeners):
            failure = guarded_call(listener, message).error
            if failure is not None:
                log.error("a listener to messages failed", exc_info=failure)
        return message

    def broadcast(self, sender: str, content: str) -> JsonObject:
        """Send to everyone but the sender."""
        return self.send(sender, EVERYONE, content)

    def conversation(self, one: str, other: str) -> list[JsonObject]:
        """What two agents wrote to each other, oldest first; nothing that was for everyone."""
        pair = {one, other}
        return [m for m in self._messages if one != other and {m["from"], m["to"]} == pair]

    def addressed_to(self, agent: str) -> list[JsonObject]:
        """Every message for an agent, read or not, oldest first."""
        return [
            m
            for m in self._messages
            if m["to"] == agent or (m["to"] == EVERYONE and m["from"] != agent)
        ]

    def unread(self, agent: str) -> list[JsonObject]:
        """Messages for an agent it has not marked as read."""
        read = set(self._read.get(agent, ()))
        return [m for m in self.addressed_to(agent) if m["id"] not in read]

    def mark_read(self, agent: str, message_ids: list[str]) -> None:
        """Remember that an agent has read these messages."""
        known = self._read.setdefault(agent, [])
        known.extend(i for i in dict.fromkeys(message_ids) if i not in known)

    def snapshot(self) -> MessageBusSnapshot:
        """The checkpoint form; messages are shared, lists are fresh."""
        return {
            "version": 1,
            "messages": list(self._messages),
            "readState": [
                {"agentName": agent, "messageIds": list(ids)} for agent, ids in self._read.items()
            ],
        }

    def restore(self, snapshot: MessageBusSnapshot) -> None:
        """Replace messages and read state. Raises InvalidInput BUS_SNAPSHOT_VERSION."""
        check_bus_snapshot(snapshot)
        self._messages = list(snapshot["messages"])
        self._read = {
            str(row["agentName"]): list(cast("list[str]", row["messageIds"]))
            for row in snapshot["readState"]
        }


def check_bus_snapshot(snapshot: MessageBusSnapshot) -> None:
    """Raise InvalidInput BUS_SNAPSHOT_VERSION when it cannot be restored."""
    if cast("object", snapshot.get("version")) != 1:
        raise InvalidInput("BUS_SNAPSHOT_VERSION", found=snapshot.get("version"))
