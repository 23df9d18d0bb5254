"""What Faust and the Kafka client log becomes our events, also in a process that configures no logging of ours."""

import logging

from clearcall.infra.logging import LibraryLogs

_NAMES = ("faust", "mode", "aiokafka", "kafka")


def into_structlog() -> None:
    """Send the libraries' warnings and errors to structlog; calling it again changes nothing."""
    for name in _NAMES:
        logger = logging.getLogger(name)
        if not any(isinstance(handler, LibraryLogs) for handler in logger.handlers):
            logger.handlers[:] = [LibraryLogs()]
        logger.setLevel(logging.WARNING)
        logger.propagate = False
