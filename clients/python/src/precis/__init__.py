"""Client of precis over HTTP: publish what an agent does, ask for its compacted prompt.

    client = precis.Client()
    stored = client.publish("t1", {"type": "thread.message", "message_id": "m1", "role": "user", "content": "Hi"})
    prompt = client.context("t1", format="openai", max_tokens=8000, min_event_seq=stored["event_seq"])

The types of what is sent and answered are in precis.types, generated from precis's JSON Schemas.
"""

from . import types
from .client import Client
from .errors import (
    BadRequest,
    EventsRejected,
    GateTimeout,
    NotFound,
    PrecisError,
    Problem,
    StaleSummary,
    TooLarge,
    Unauthorized,
    Unavailable,
    Unreachable,
)
from .request import Record

__all__ = [
    "BadRequest",
    "Client",
    "EventsRejected",
    "GateTimeout",
    "NotFound",
    "PrecisError",
    "Problem",
    "Record",
    "StaleSummary",
    "TooLarge",
    "Unauthorized",
    "Unavailable",
    "Unreachable",
    "types",
]
