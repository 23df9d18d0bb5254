"""A worker's web port: ``/health/live``, ``/health/ready`` and ``/metrics``. It says numbers and names, no text."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson
import structlog
from aiohttp import web

from clearcall.infra.settings import Settings
from clearcall.streams.health import Health
from clearcall.streams.metrics import Metrics

log = structlog.get_logger()

_CLOSE_SECONDS = 0.5
"""For answers under way when the worker ends."""


class PortTaken(Exception):
    """The web port cannot be listened on; the text says why."""


@asynccontextmanager
async def served(settings: Settings, health: Health) -> AsyncIterator[None]:
    """Answer on ``settings.web_host`` and ``web_port`` for the length of the block; a port of 0 is off.

    Raises:
        PortTaken: it cannot be listened on.
    """
    if settings.web_port == 0:
        yield
        return
    runner = web.AppRunner(application(health), access_log=None, shutdown_timeout=_CLOSE_SECONDS)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, settings.web_host, settings.web_port).start()
        except OSError as error:
            address = f"{settings.web_host}:{settings.web_port}"
            raise PortTaken(f"the web port {address} cannot be used: {error.strerror}") from error
        log.info("web.listening", host=settings.web_host, port=settings.web_port)
        yield
    finally:
        await runner.cleanup()


def application(health: Health) -> web.Application:
    """The three pages."""
    metrics = Metrics(lambda: health.stages)

    async def live(_request: web.Request) -> web.Response:
        return _json(200, {"live": True})

    async def ready(_request: web.Request) -> web.Response:
        is_ready, state = health.ready()
        return _json(200 if is_ready else 503, state)

    async def numbers(request: web.Request) -> web.Response:
        text, content_type = metrics.page(request.headers.get("Accept", ""))
        return web.Response(body=text, headers={"Content-Type": content_type})

    app = web.Application()
    app.add_routes([web.get("/health/live", live), web.get("/health/ready", ready), web.get("/metrics", numbers)])
    return app


def _json(status: int, content: object) -> web.Response:
    return web.Response(status=status, body=orjson.dumps(content), content_type="application/json")
