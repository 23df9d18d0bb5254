"""Child processes do not outlive an owner that is killed, and are left in peace once they are let go."""

import signal
import subprocess
import sys
import textwrap

import psutil

OWNER = textwrap.dedent("""
    import multiprocessing, os, signal, sys, time
    from clearcall.agents.consultant.orphans import Orphans

    if __name__ == "__main__":
        context = multiprocessing.get_context("spawn")
        earlier = context.Process(target=time.sleep, args=(600,), daemon=True)
        earlier.start()
        orphans = Orphans()
        child = context.Process(target=time.sleep, args=(600,), daemon=True)
        child.start()
        orphans.watch()
        if "kill" in sys.argv:
            orphans.kill()
            child.join()
        if "let go" in sys.argv:
            orphans.let_go()
        print(earlier.pid, child.pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
""")


def left_by_an_owner(*arguments: str) -> tuple[psutil.Process | None, psutil.Process | None]:
    """What is left of a child from before the guard and of a guarded one, after their owner was killed."""
    with subprocess.Popen([sys.executable, "-c", OWNER, *arguments], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        line = owner.stdout.readline()  # not to its end: the children hold it open
        assert owner.wait(60) == -signal.SIGKILL
    earlier, child = map(int, line.split())
    return still(earlier, grace=0), still(child, grace=0.0 if arguments == ("let go",) else 30)


def still(pid: int, grace: float) -> psutil.Process | None:
    try:
        process = psutil.Process(pid)
        process.wait(grace)
    except psutil.NoSuchProcess:
        return None
    except psutil.TimeoutExpired:
        return process
    return None


def end(*processes: psutil.Process | None) -> None:
    for process in processes:
        if process is not None:
            process.kill()


def test_a_guarded_child_ends_with_its_owner_and_one_from_before_does_not() -> None:
    earlier, child = left_by_an_owner()
    end(earlier, child)
    assert earlier is not None
    assert child is None


def test_a_child_that_was_let_go_is_left_in_peace() -> None:
    earlier, child = left_by_an_owner("let go")
    end(earlier, child)
    assert child is not None


def test_guarded_children_can_be_ended_at_once() -> None:
    earlier, child = left_by_an_owner("kill")
    end(earlier, child)
    assert earlier is not None
    assert child is None
