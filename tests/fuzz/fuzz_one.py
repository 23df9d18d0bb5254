"""One harness under atheris: its name, what starts this again, then libFuzzer's own arguments."""

import logging
import sys

import atheris
import fuzz_parts
import structlog


def main() -> None:
    """Fuzz until libFuzzer's limits; an exception ends it, and its input is kept."""
    name, sys.argv[0] = sys.argv.pop(1), sys.argv.pop(1)  # libFuzzer starts itself for each step of a merge
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    with atheris.instrument_imports(include=["clearcall", "string", "tomllib"]):
        harness = fuzz_parts.harness(name)
    atheris.Setup(sys.argv, harness.check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
