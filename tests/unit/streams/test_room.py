from hypothesis import given
from hypothesis import strategies as st
from runtime_fakes import record

from clearcall.streams.records import Partition, Record
from clearcall.streams.room import Room, size_of

PARTITIONS = [Partition("t", number) for number in range(3)]
RECORDS = st.builds(
    lambda partition, size: record(0, partition=partition, key=b"", value=b"x" * size),
    st.sampled_from(PARTITIONS),
    st.integers(0, 50),
)


@given(st.lists(st.tuples(st.booleans(), RECORDS), max_size=60), st.integers(1, 10), st.integers(1, 200))
def test_what_is_in_it_is_always_the_sum_of_what_entered_and_did_not_leave(
    steps: list[tuple[bool, Record]], messages: int, size: int
) -> None:
    room = Room(messages, size)
    inside: list[Record] = []
    for leaves, one in steps:
        if leaves and inside:
            room.leave(inside.pop(0))
        elif room.has_space:
            room.enter(one)
            inside.append(one)
        assert room.messages_in == len(inside) <= messages
        assert room.bytes_in == sum(map(size_of, inside)) < size + 50 + 1
        assert room.has_space == (room.messages_in < messages and room.bytes_in < size)
        for partition in PARTITIONS:
            mine = [size_of(other) for other in inside if other.partition == partition]
            assert room.used_by(partition) == max(len(mine) / messages, sum(mine) / size)
    room.clear()
    assert (room.messages_in, room.bytes_in, room.has_space, room.used) == (0, 0, True, 0)


def test_a_record_is_as_large_as_its_key_value_and_headers() -> None:
    assert size_of(record(0, key=None, value=None)) == 0
    assert size_of(record(0, key=b"ab", value=b"cde", headers=(("name", b"12345"), ("none", None)))) == 5 + 25 + 20
