"""What the performance database says of a run: the paper's Tables 1 to 5, and a summary."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clearcall.infra.clickhouse.client import Database

TABLES: Mapping[str, str] = {
    "table1": "table1_hallucination_rate",
    "table2": "table2_mean_ss",
    "table3": "table3_flagged",
    "table4": "table4_distribution",
    "table5": "table5_by_size",
}
"""The views by the paper's names."""

_FILTERED = ("cleaned", "evaluations", "fragments")


@dataclass(frozen=True, slots=True)
class Interval:
    """A share, 0 to 1, with its Wilson 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Rate:
    """The hallucination rate of one consultant at one task and iteration; ``agent`` and ``task`` are names, or empty.

    ``scope`` is ``scored`` (the fragments scored at this iteration) or ``corpus`` (all as they stand after it).
    ``by_ss`` is Algorithm 1 alone, as in the paper; ``by_rules`` what the run flagged.
    """

    scope: str
    backend: str
    model: str
    prompt_version: str
    iteration: int
    fragments: int
    flagged_by_ss: int
    by_ss: Interval
    flagged_by_rules: int
    by_rules: Interval
    agent: str = ""
    task: str = ""


@dataclass(frozen=True, slots=True)
class Similarity:
    """The distribution of a similarity, 0 to 100; ``measure`` is ``ss_paper`` (Algorithm 1) or ``ss`` (the mode's)."""

    scope: str
    backend: str
    model: str
    prompt_version: str
    iteration: int
    measure: str
    fragments: int
    mean: float
    std: float | None
    minimum: float
    lower_quartile: float
    median: float
    upper_quartile: float
    maximum: float
    agent: str = ""
    task: str = ""


@dataclass(frozen=True, slots=True)
class WorstFragment:
    """A flagged fragment with its best window in the source; ``reasons`` are the guards' sentences."""

    call_id: str
    chunk_id: int
    iteration: int
    fragment_id: int
    ss: float
    ss_paper: float
    text: str
    source_text: str
    reasons: tuple[str, ...]
    agent: str = ""
    task: str = ""


@dataclass(frozen=True, slots=True)
class Performance:
    """What one consultant does at one task.

    ``rate_0`` to ``rate_2`` are the shares of fragments that the rules flag as the corpus stands after an iteration,
    ``None`` where none was reached; ``mean_ss`` is of the mode, after the last one. Latency is of one answer.
    """

    agent: str
    task: str
    step: int
    shadow: bool
    backend: str
    model: str
    prompt_version: str
    chunks: int
    fragments: int
    rate_0: float | None
    rate_1: float | None
    rate_2: float | None
    mean_ss: float | None
    p50_latency_ms: float
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Summary:
    """A run at a glance; ``statuses`` counts chunks, ``matrix`` has every consultant at every task."""

    calls: int
    chunks: int
    fragments: int
    dead_letters: int
    statuses: Mapping[str, int]
    rates: tuple[Rate, ...]
    similarities: tuple[Similarity, ...]
    worst: tuple[WorstFragment, ...]
    matrix: tuple[Performance, ...] = ()

    @property
    def is_of_several(self) -> bool:
        """There is more than one consultant or task to compare."""
        return len({(each.agent, each.task) for each in self.matrix}) > 1


Tables = dict[str, list[dict[str, Any]]]
"""The paper's Tables 1 to 5, ``table1`` to ``table5``, their rows by column name."""


def summary(database: Database, call: str | None = None, worst: int = 3) -> Summary:
    """The whole database, or one call, at a glance; dead letters are of no call and always counted whole."""
    return _summary(_Reader(database, call), worst)


def tables(database: Database, call: str | None = None) -> Tables:
    """The paper's tables of the whole database or of one call."""
    return _tables(_Reader(database, call))


def summary_and_tables(database: Database, call: str | None = None, worst: int = 3) -> tuple[Summary, Tables]:
    """Both, each view read once."""
    reader = _Reader(database, call)
    return _summary(reader, worst), _tables(reader)


def _summary(reader: "_Reader", worst: int) -> Summary:
    statuses = reader.rows("SELECT status, count() AS chunks FROM cleaned_current GROUP BY status ORDER BY status")
    counts = reader.rows("SELECT uniqExact(call_id) AS calls, count() AS chunks FROM cleaned_current")[0]
    return Summary(
        calls=counts["calls"],
        chunks=counts["chunks"],
        fragments=reader.rows("SELECT count() AS fragments FROM fragments_current")[0]["fragments"],
        dead_letters=reader.rows("SELECT count() AS letters FROM dead_letters_current")[0]["letters"],
        statuses={row["status"]: row["chunks"] for row in statuses},
        rates=tuple(_rate(row) for row in reader.table("table1")),
        similarities=_similarities(reader),
        worst=tuple(_worst(row) for row in reader.rows(_WORST, {"most": worst})),
        matrix=tuple(Performance(**row) for row in reader.rows(_MATRIX)),
    )


def _tables(reader: "_Reader") -> Tables:
    return {name: reader.table(name) for name in TABLES}


_WORST = """
SELECT call_id, chunk_id, iteration, agent, task, fragment_id, ss, ss_paper, text, source_text,
    flags.reason AS reasons
FROM fragments_current
WHERE flagged
ORDER BY ss, ss_paper, call_id, chunk_id, agent, task, iteration, fragment_id
LIMIT 1 BY call_id, chunk_id
LIMIT {most:UInt32}
"""

_MATRIX = "SELECT * FROM performance_matrix ORDER BY step, task, shadow, agent, backend, model, prompt_version"

_KEY = ("scope", "agent", "task", "backend", "model", "prompt_version", "iteration")
_TASKS = (
    "SELECT groupArray(task) FROM (SELECT task FROM evaluations GROUP BY task ORDER BY max(step), task)"  # in order
)
_ORDER = f"scope DESC, iteration, indexOf(({_TASKS}), task), agent, backend, model, prompt_version"


class _Reader:
    """Reads views, of one call where one is given: the filter is put on the tables under them."""

    def __init__(self, database: Database, call: str | None) -> None:
        self._database = database
        self._tables: dict[str, list[dict[str, Any]]] = {}
        self._settings: dict[str, str] = {}
        if call is not None:
            wanted = f"call_id = unhex(\\'{call.encode().hex()}\\')"  # as hex no quote of the id's own can end it
            filters = ", ".join(f"'{database.address.database}.{table}': '{wanted}'" for table in _FILTERED)
            self._settings = {"additional_table_filters": "{" + filters + "}"}

    def rows(self, query: str, parameters: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        return self._database.rows(query, parameters, self._settings)

    def table(self, name: str) -> list[dict[str, Any]]:
        """A view in its order, read once."""
        if name not in self._tables:
            last = {
                "table4": ", measure DESC",
                "table5": ", indexOf(['under 50', '50 to 100', 'over 100'], size_class)",
            }
            order = _ORDER + last.get(name, "")
            query = f"SELECT * FROM {TABLES[name]} ORDER BY {order}"  # noqa: S608 - names of ours, no input
            self._tables[name] = self.rows(query)
        return self._tables[name]


def _rate(row: Mapping[str, Any]) -> Rate:
    def interval(name: str) -> Interval:
        return Interval(row[name], row[f"{name}_low"], row[f"{name}_high"])

    return Rate(
        **{name: row[name] for name in (*_KEY, "fragments")},
        flagged_by_ss=row["flagged_by_ss"],
        by_ss=interval("rate_by_ss"),
        flagged_by_rules=row["flagged_by_rules"],
        by_rules=interval("rate_by_rules"),
    )


def _similarities(reader: _Reader) -> tuple[Similarity, ...]:
    means = {tuple(row[name] for name in _KEY): row for row in reader.table("table2")}
    return tuple(
        Similarity(**row, mean=means[tuple(row[name] for name in _KEY)][f"mean_{row['measure']}"])
        for row in reader.table("table4")
    )


def _worst(row: Mapping[str, Any]) -> WorstFragment:
    return WorstFragment(**{**row, "reasons": tuple(row["reasons"])})
