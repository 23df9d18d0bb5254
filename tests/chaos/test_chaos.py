"""Faults of every kind for a short while. ``CLEARCALL_SKIP_CHAOS=1`` leaves it out; `make chaos` runs longer ones."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clearcall.infra.kafka import maven
from clearcall.infra.kafka.errors import NoBroker

pytestmark = [pytest.mark.chaos, pytest.mark.integration]

MINUTES, SEED = "2.5", "7"
_HARNESS = Path(__file__).with_name("chaos_run.py")
_MOST_SECONDS = 900


@pytest.mark.skipif(bool(os.environ.get("CLEARCALL_SKIP_CHAOS")), reason="CLEARCALL_SKIP_CHAOS is set")
def test_nothing_is_lost_or_doubled_while_everything_fails(tmp_path: Path) -> None:
    pytest.importorskip("chdb", reason="the embedded engine is not installed")
    try:
        maven.java()
        maven.jars()
    except NoBroker as reason:
        pytest.skip(f"no three brokers: {reason}")
    harness = [sys.executable, str(_HARNESS), "--minutes", MINUTES, "--seed", SEED]
    ended = subprocess.run(
        [*harness, "--longest", "20", "--pause", "5:9", "--keep", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=_MOST_SECONDS,
        check=False,
    )
    assert ended.returncode == 0, f"{ended.stdout[-6000:]}\n{ended.stderr[-3000:]}\nlogs in {tmp_path}"
