from runtime_fakes import Time

from clearcall.streams.watchdog import Watchdog


def test_a_busy_member_is_well() -> None:
    time = Time()
    dog = Watchdog(60, time.clock)
    for _ in range(100):
        time.now += 30
        assert dog.verdict(member=True, behind=True, active_at=time.now - 10) is None


def test_an_idle_member_is_well_however_long_nothing_happens() -> None:
    time = Time()
    dog = Watchdog(60, time.clock)
    time.now += 100_000
    assert dog.verdict(member=True, behind=False, active_at=1000) is None


def test_a_worker_outside_its_group_must_exit_after_the_timeout() -> None:
    time = Time()
    dog = Watchdog(60, time.clock)
    time.now += 60
    assert dog.verdict(member=False, behind=False, active_at=time.now) is None
    time.now += 1
    assert "no assignment" in (dog.verdict(member=False, behind=False, active_at=time.now) or "")


def test_a_worker_that_came_back_in_time_is_well() -> None:
    time = Time()
    dog = Watchdog(60, time.clock)
    time.now += 50
    assert dog.verdict(member=True, behind=False, active_at=time.now) is None
    time.now += 50
    assert dog.verdict(member=False, behind=False, active_at=time.now) is None


def test_messages_that_wait_while_nothing_happens_end_the_worker() -> None:
    time = Time()
    dog = Watchdog(60, time.clock)
    last = time.now
    time.now += 61
    assert "nothing has happened for 61 s" in (dog.verdict(member=True, behind=True, active_at=last) or "")


def test_messages_that_arrive_after_a_long_idle_time_get_the_whole_timeout() -> None:
    time = Time()
    dog = Watchdog(60, time.clock)
    time.now += 10_000
    assert dog.verdict(member=True, behind=False, active_at=1000) is None
    time.now += 59
    assert dog.verdict(member=True, behind=True, active_at=1000) is None


def test_attempts_that_fail_count_as_activity() -> None:
    time = Time()
    dog = Watchdog(60, time.clock)
    for _ in range(20):
        time.now += 20
        assert dog.verdict(member=True, behind=True, active_at=time.now) is None


def test_a_worker_that_kafka_does_not_answer_waits_for_the_timeout_and_ends() -> None:
    time = Time()
    dog = Watchdog(60, time.clock)
    time.now += 1000
    assert dog.verdict(member=True, behind=False, active_at=0, silent=60) is None
    assert dog.verdict(member=True, behind=False, active_at=0, silent=61) == "Kafka has not answered for 61 s"
