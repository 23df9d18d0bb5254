"""Apache Kafka's jars, resolved once by Maven into a cache that many processes may share."""

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clearcall.infra.kafka.errors import NoBroker

_POM = Path(__file__).with_name("pom.xml")
_GOAL = "dependency:copy-dependencies"
_TIMEOUT = 900.0  # seconds: 45 MB on a slow line
_OLDEST_JAVA = 17  # what Apache Kafka 4's broker runs on


def version() -> str:
    """The version of Apache Kafka that the pom names."""
    found = re.search(r"<kafka\.version>([^<]+)</kafka\.version>", _POM.read_text())
    if found is None:
        raise ValueError(f"{_POM} names no kafka.version")
    return found[1]


def cache_folder() -> Path:
    """``CLEARCALL_CACHE``, or ``~/.cache/clearcall``."""
    return Path(os.environ.get("CLEARCALL_CACHE") or Path.home() / ".cache" / "clearcall")


def java() -> str:
    """The path of a Java that can run the broker.

    Raises:
        NoBroker: there is none, or it is too old.
    """
    program = shutil.which("java")
    if program is None:
        raise NoBroker(f"Apache Kafka needs Java {_OLDEST_JAVA} or newer: there is no java on the PATH")
    said = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603 - found on the PATH
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    if found is None or int(found[1]) < _OLDEST_JAVA:
        raise NoBroker(f"Apache Kafka needs Java {_OLDEST_JAVA} or newer; {program} says {said.strip()!r}")
    return program


def jars(cache: Path | None = None) -> Path:
    """The folder with the broker's jars, fetched if it is not there; callers in other processes wait for one fetch.

    Raises:
        NoBroker: there is no ``mvn``, or Maven failed; the text has its last words.
    """
    target = (cache or cache_folder()) / f"kafka-{version()}"
    if _is_complete(target):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with _locked(target.with_name(target.name + ".lock")):
        if not _is_complete(target):  # another process may have fetched them meanwhile
            _fetch(target)
    return target


def can_resolve(cache: Path | None = None) -> bool:
    """Whether :func:`jars` has a chance: the jars are cached, or ``mvn`` is there."""
    return _is_complete((cache or cache_folder()) / f"kafka-{version()}") or shutil.which("mvn") is not None


def _is_complete(target: Path) -> bool:
    """The copy of the pom is the last file written, so it also tells that the jars are this pom's."""
    copy = target / "pom.xml"
    return copy.is_file() and copy.read_bytes() == _POM.read_bytes()


def _fetch(target: Path) -> None:
    program = shutil.which("mvn")
    if program is None:
        raise NoBroker("Apache Kafka is fetched by Maven: there is no mvn on the PATH")
    fresh = Path(tempfile.mkdtemp(prefix=target.name + ".", dir=target.parent))
    try:
        command = [program, "-B", "-q", "-f", str(_POM), _GOAL, "-DincludeScope=runtime", f"-DoutputDirectory={fresh}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT, cwd=fresh)  # noqa: S603 - found on the PATH
        if done.returncode:
            raise NoBroker(f"Maven could not fetch Apache Kafka {version()}:\n{(done.stdout + done.stderr)[-2000:]}")
        shutil.copyfile(_POM, fresh / "pom.xml")
        shutil.rmtree(target, ignore_errors=True)
        fresh.rename(target)
    except subprocess.TimeoutExpired as error:
        raise NoBroker(f"Maven did not fetch Apache Kafka within {_TIMEOUT:g} s") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Held by one process at a time; the system lets go of it when the process dies."""
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
