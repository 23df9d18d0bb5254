"""Looks at everything outside that a deployment needs, and says what to do where something is amiss."""

import asyncio
from collections.abc import Awaitable, Callable

from clearcall.infra.settings import Settings
from clearcall.streams.doctor.database import check_database
from clearcall.streams.doctor.evaluator_agent import check_evaluator_agent
from clearcall.streams.doctor.finding import Finding, State
from clearcall.streams.doctor.kafka import check_kafka
from clearcall.streams.doctor.model import check_team

__all__ = ["Finding", "State", "examine"]

_CHECKS: dict[str, Callable[[Settings], Awaitable[list[Finding]]]] = {
    "Kafka": check_kafka,
    "ClickHouse": check_database,
    "consultant": check_team,
    "evaluator agent": check_evaluator_agent,
}


async def examine(settings: Settings, seen: Callable[[list[Finding]], None] = lambda _: None) -> list[Finding]:
    """All findings, in the order of the checks, which run side by side and never raise.

    ``seen`` is given those of each check as it ends.
    """

    async def one(name: str, check: Callable[[Settings], Awaitable[list[Finding]]]) -> list[Finding]:
        found = await _guarded(name, check, settings)
        seen(found)
        return found

    found = await asyncio.gather(*(one(name, check) for name, check in _CHECKS.items()))
    return [finding for findings in found for finding in findings]


async def _guarded(
    name: str, check: Callable[[Settings], Awaitable[list[Finding]]], settings: Settings
) -> list[Finding]:
    try:
        return await check(settings)
    except ModuleNotFoundError as error:
        extra = "embedded" if name == "ClickHouse" else "worker"
        return [Finding(name, State.FAIL, f"{error.name} is not installed", f"pip install 'clearcall[{extra}]'")]
    except Exception as error:  # noqa: BLE001 - a check that breaks is a finding: the others still tell something
        return [Finding(name, State.FAIL, f"{type(error).__name__}: {error}", "clearcall --debug doctor shows more")]
