"""Messages laid aside in the room: their places are free, their bytes are not."""

from runtime_fakes import CHUNKS, record

from clearcall.streams.room import Room, size_of


def test_a_message_aside_gives_its_place_and_keeps_its_bytes_until_it_leaves() -> None:
    one = record(0, value=b"{}")
    room = Room(1, 1_000_000)
    room.enter(one)
    full = not room.has_space
    room.lay_aside(one)
    assert full
    assert room.has_space
    assert (room.messages_in, room.bytes_in) == (1, size_of(one))
    room.leave(one, aside=True)
    assert (room.messages_in, room.bytes_in, room.used_by(CHUNKS)) == (0, 0, 0.0)


def test_bytes_fill_the_room_whatever_is_laid_aside() -> None:
    one = record(0, value=b"{}")
    room = Room(10, size_of(one))
    room.enter(one)
    room.lay_aside(one)
    assert not room.has_space
