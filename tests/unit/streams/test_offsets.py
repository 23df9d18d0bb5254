from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from clearcall.streams.offsets import Offsets, PartitionOffsets
from clearcall.streams.records import Partition

P = Partition("t", 0)
Q = Partition("t", 1)


def test_nothing_is_committable_before_the_first_message() -> None:
    assert PartitionOffsets().committable is None


def test_the_lowest_unfinished_offset_is_committable_while_later_ones_are_done() -> None:
    offsets = PartitionOffsets()
    for offset in (5, 6, 7):
        offsets.begin(offset)
    assert offsets.finish(6) == []
    assert offsets.finish(7) == []
    assert offsets.committable == 5


def test_a_finished_head_releases_all_that_was_waiting_behind_it_in_order() -> None:
    offsets = PartitionOffsets()
    for offset in (5, 6, 9):
        offsets.begin(offset)
    offsets.finish(9)
    offsets.finish(6)
    assert offsets.finish(5) == [5, 6, 9]
    assert offsets.committable == 10


def test_a_message_under_way_is_not_begun_twice() -> None:
    offsets = PartitionOffsets()
    assert offsets.begin(3)
    assert not offsets.begin(3)


def test_a_finished_message_that_waits_for_its_turn_is_not_begun_twice() -> None:
    offsets = PartitionOffsets()
    offsets.begin(3)
    offsets.begin(4)
    offsets.finish(4)
    assert not offsets.begin(4)


def test_after_kafka_goes_back_the_earlier_message_holds_the_commit() -> None:
    offsets = PartitionOffsets()
    offsets.begin(200)
    offsets.begin(100)
    offsets.finish(200)
    assert offsets.committable == 100
    assert offsets.finish(100) == [100, 200]


def test_finishing_twice_releases_once() -> None:
    offsets = PartitionOffsets()
    offsets.begin(1)
    assert offsets.finish(1) == [1]
    assert offsets.finish(1) == []


def test_what_finishes_after_its_assignment_was_revoked_changes_nothing() -> None:
    offsets = Offsets()
    offsets.begin(P, 1)
    before = offsets.generation
    offsets.revoke()
    offsets.begin(P, 1)
    assert offsets.finish(P, 1, before) == []
    assert offsets.committable() == {P: 1}


def test_partitions_do_not_hold_each_other_up() -> None:
    offsets = Offsets()
    offsets.begin(P, 1)
    offsets.begin(Q, 8)
    offsets.finish(Q, 8, offsets.generation)
    assert offsets.committable() == {P: 1, Q: 9}
    assert offsets.lowest_unfinished(P) == 1
    assert offsets.lowest_unfinished(Q) is None


@given(st.permutations(range(40)))
def test_any_order_of_finishing_releases_every_offset_once_and_in_order(order: list[int]) -> None:
    offsets = PartitionOffsets()
    for offset in range(40):
        offsets.begin(offset)
    released: list[int] = []
    done: set[int] = set()
    for offset in order:
        released += offsets.finish(offset)
        done.add(offset)
        assert all(earlier in done for earlier in range(offsets.committable or 0))
    assert released == list(range(40))


class OffsetsUnderRebalances(RuleBasedStateMachine):
    """Begins, finishes in any order, late finishes, jumps back and revocations against a plain model."""

    def __init__(self) -> None:
        super().__init__()
        self.offsets = Offsets()
        self.next = 0
        self.open: dict[int, int] = {}  # offset to generation
        self.ended: list[tuple[int, int]] = []  # of generations that are over
        self.finished: set[int] = set()
        self.begun: set[int] = set()

    @rule(gap=st.integers(0, 3))
    def begin_the_next(self, gap: int) -> None:
        offset = self.next + gap
        self.next = offset + 1
        assert self.offsets.begin(P, offset)
        self.open[offset] = self.offsets.generation
        self.begun.add(offset)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def finish_any(self, data: st.DataObject) -> None:
        offset = data.draw(st.sampled_from(sorted(self.open)))
        self.offsets.finish(P, offset, self.open.pop(offset))
        self.finished.add(offset)

    @rule(back=st.integers(0, 5))
    def revoke(self, back: int) -> None:
        self.ended += self.open.items()
        committed = self.offsets.committable().get(P)
        self.offsets.revoke()
        self.open, self.begun = {}, set()
        self.next = max(0, (self.next if committed is None else committed) - back)

    @precondition(lambda self: self.ended)
    @rule(data=st.data())
    def finish_late(self, data: st.DataObject) -> None:
        offset, generation = data.draw(st.sampled_from(self.ended))
        assert self.offsets.finish(P, offset, generation) == []

    @invariant()
    def the_commit_never_passes_an_unfinished_message(self) -> None:
        committable = self.offsets.committable().get(P)
        assert (committable is None) == (not self.begun)
        if committable is not None:
            assert committable == min(self.open, default=max(self.begun) + 1)


TestOffsetsUnderRebalances = OffsetsUnderRebalances.TestCase
