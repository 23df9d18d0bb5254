"""What travels: messages, headers, ids, topics. Floor 1: imports nothing of ours.

``Message`` and its subclasses are the values of the topics; ``Headers`` what goes beside them;
``decode`` turns raw bytes into a message or raises a ``DecodeError`` with a reason.
"""

from clearcall.schemas.checks import Distortion, FlagChange, FragmentCheck, ToolCheck
from clearcall.schemas.codec import DecodeError, Oversize, Undecodable, UnknownSchema, decode, encode
from clearcall.schemas.envelope import Incoming, Outgoing
from clearcall.schemas.headers import MAX_ITERATION, Headers, parse_iteration
from clearcall.schemas.messages import (
    Alert,
    Chunk,
    Cleaned,
    Correction,
    DeadLetter,
    Draft,
    Evaluation,
    Handover,
    Message,
)
from clearcall.schemas.parts import (
    Attempt,
    ConsultantInfo,
    ContextTurn,
    Failure,
    FragmentScore,
    GuardFlag,
    Outcome,
    Span,
    Status,
    TaskEnd,
    Track,
)
from clearcall.schemas.topics import Topic

__all__ = [
    "MAX_ITERATION",
    "Alert",
    "Attempt",
    "Chunk",
    "Cleaned",
    "ConsultantInfo",
    "ContextTurn",
    "Correction",
    "DeadLetter",
    "DecodeError",
    "Distortion",
    "Draft",
    "Evaluation",
    "Failure",
    "FlagChange",
    "FragmentCheck",
    "FragmentScore",
    "GuardFlag",
    "Handover",
    "Headers",
    "Incoming",
    "Message",
    "Outcome",
    "Outgoing",
    "Oversize",
    "Span",
    "Status",
    "TaskEnd",
    "ToolCheck",
    "Topic",
    "Track",
    "Undecodable",
    "UnknownSchema",
    "decode",
    "encode",
    "parse_iteration",
]
