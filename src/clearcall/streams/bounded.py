"""Waits that end: libraries that swallow their cancellation are left behind instead of being waited for."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any


async def ended_within(seconds: float, work: Coroutine[Any, Any, object]) -> bool:
    """Do ``work`` for at most ``seconds``; ``False`` where it is left behind, cancelled. Raises what it raised.

    ``asyncio.wait_for`` waits until the cancelled work has ended, and Faust's services go on when they are cancelled.
    """
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait((task,), timeout=seconds)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if not done:
        task.cancel()
        return False
    task.result()
    return True


async def cancel(tasks: Iterable[asyncio.Future[Any]], seconds: float) -> None:
    """Cancel ``tasks``, and give them ``seconds`` to end."""
    pending = [task for task in tasks if not task.done()]
    for task in pending:
        task.cancel()
    if pending:
        done, _ = await asyncio.wait(pending, timeout=seconds)
        await asyncio.gather(*done, return_exceptions=True)  # nobody else asks for what they raised
