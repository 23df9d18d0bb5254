"""Where Apache Kafka's jars come from, without fetching any."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from clearcall.infra.kafka import maven
from clearcall.infra.kafka.errors import NoBroker


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the PATH, for programs that a test makes up."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def _program(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!{sys.executable}\nimport sys\nfrom pathlib import Path\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


MAVEN = """
folder = next(a.split('=', 1)[1] for a in sys.argv if a.startswith('-DoutputDirectory='))
with Path(__file__).with_name('calls').open('a') as calls:
    calls.write('x')
Path(folder, 'kafka.jar').write_text('jar')
"""


def test_the_pom_names_a_version_of_kafka_4() -> None:
    assert maven.version().startswith("4.")


def test_the_cache_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CLEARCALL_CACHE", str(tmp_path))
    assert maven.cache_folder() == tmp_path
    monkeypatch.delenv("CLEARCALL_CACHE")
    assert maven.cache_folder() == Path.home() / ".cache" / "clearcall"


def test_no_java_is_refused_by_name(programs: Path) -> None:  # noqa: ARG001 - an empty PATH
    with pytest.raises(NoBroker, match="needs Java 17"):
        maven.java()


@pytest.mark.parametrize(
    ("said", "accepted"), [("1.8.0_392", False), ("11.0.2", False), ("17.0.15", True), ("26", True)]
)
def test_java_older_than_17_is_refused(programs: Path, said: str, accepted: bool) -> None:
    _program(programs, "java", f"""print('openjdk version "{said}" 2025-04-15', file=sys.stderr)""")
    if accepted:
        assert maven.java() == str(programs / "java")
        return
    with pytest.raises(NoBroker, match="needs Java 17"):
        maven.java()


def test_no_maven_and_no_cache_is_refused_by_name(programs: Path, tmp_path: Path) -> None:  # noqa: ARG001 - an empty PATH
    assert not maven.can_resolve(tmp_path / "cache")
    with pytest.raises(NoBroker, match="no mvn on the PATH"):
        maven.jars(tmp_path / "cache")


def test_jars_are_fetched_once_and_then_need_no_maven(programs: Path, tmp_path: Path) -> None:
    _program(programs, "mvn", MAVEN)
    folder = maven.jars(tmp_path / "cache")
    assert folder.name == f"kafka-{maven.version()}"
    assert (folder / "kafka.jar").read_text() == "jar"
    (programs / "mvn").unlink()
    assert maven.can_resolve(tmp_path / "cache")
    assert maven.jars(tmp_path / "cache") == folder


def test_jars_of_another_pom_are_fetched_anew(programs: Path, tmp_path: Path) -> None:
    _program(programs, "mvn", MAVEN)
    folder = maven.jars(tmp_path)
    (folder / "pom.xml").write_text("older")
    maven.jars(tmp_path)
    assert (programs / "calls").read_text() == "xx"


def test_a_failing_maven_says_why_and_leaves_no_half_cache(programs: Path, tmp_path: Path) -> None:
    _program(programs, "mvn", "print('no route to the repository')\nsys.exit(1)")
    with pytest.raises(NoBroker, match="no route to the repository"):
        maven.jars(tmp_path / "cache")
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [f"kafka-{maven.version()}.lock"]


def test_processes_that_need_the_jars_at_once_share_one_fetch(programs: Path, tmp_path: Path) -> None:
    _program(programs, "mvn", MAVEN)
    code = "import sys, pathlib; from clearcall.infra.kafka import maven; maven.jars(pathlib.Path(sys.argv[1]))"
    running = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "cache")]) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert (programs / "calls").read_text() == "x"
