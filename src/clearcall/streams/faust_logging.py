"""What Faust and the Kafka client log becomes our events; their chatter below a warning is left out."""

import logging

import structlog

_NAMES = ("faust", "mode", "aiokafka", "kafka")
_MOST_CHARS = 500


class IntoStructlog(logging.Handler):
    """Passes a library's record on as one event."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log the record under our own names."""
        error = record.exc_info[1] if record.exc_info else None
        structlog.get_logger().log(
            min(record.levelno, logging.WARNING),  # what ends a stage is reported by the worker
            "library.log",
            library=record.name,
            message=record.getMessage()[:_MOST_CHARS],
            error=repr(error)[:_MOST_CHARS] if error else None,
        )


def into_structlog() -> None:
    """Send the libraries' warnings and errors to structlog; calling it again changes nothing."""
    for name in _NAMES:
        logger = logging.getLogger(name)
        if not any(isinstance(handler, IntoStructlog) for handler in logger.handlers):
            logger.handlers[:] = [IntoStructlog()]
        logger.setLevel(logging.WARNING)
        logger.propagate = False
