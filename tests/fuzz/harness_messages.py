"""Values of the topics: a line with the topic's name, then the value."""

from clearcall.schemas import DeadLetter, DecodeError, Topic, decode, encode
from clearcall.schemas.codec import schema_of
from clearcall.streams.resend import original

WORDS = (
    *Topic,
    *('"call_id":', '"chunk_id":', '"speaker":', '"text":', '"chunk":', '"attempts":[', '"fragments":[', '"flags":['),
    *('"consultant":', '"outcome":"answered"', '"failure":"cut"', '"iteration":', '"cleaned":', '"start":', '"end":'),
    *('"record_value":', '"record_headers":[[', '"offset":', '"died_at":', "1e308", "-1", "18446744073709551616"),
    *(r'"\ud800"', r"\u0000", "null", "true", "{}", "[]"),
)

_TOPICS = list(Topic)
_REASONS = {"tombstone", "not_json", "wrong_shape", "oversize", "unknown_schema"}


def check(data: bytes) -> None:
    """A value is read or refused with a reason, and what was read survives the way to bytes and back."""
    name, _, value = data.partition(b"\n")
    message_type = topic_of(name).message_type
    try:
        message = decode(message_type, value)
    except DecodeError as error:
        assert error.reason in _REASONS
        assert str(error)
        return
    back = decode(message_type, encode(message), schema_of(message_type))
    assert back == message
    assert (back.key, back.message_id) == (message.key, message.message_id)
    assert message.key.encode()
    if isinstance(message, DeadLetter):
        kept = (message.record_key, message.record_value, *(content for _, content in message.record_headers))
        assert all((original(content) is None) is (content is None) for content in kept)


def topic_of(name: bytes) -> Topic:
    """The topic of that name, or for another name one by its length."""
    return next((topic for topic in Topic if topic.encode() == name), _TOPICS[len(name) % len(_TOPICS)])
