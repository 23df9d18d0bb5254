"""Dead letters as the database has them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clearcall.infra.clickhouse.client import Database
from clearcall.schemas import DeadLetter


@dataclass(frozen=True, slots=True)
class LetterFilter:
    """Which dead letters are meant; what is empty or ``None`` takes all. ``topic`` is the name with its prefix."""

    ids: tuple[str, ...] = ()
    stage: str | None = None
    reason: str | None = None
    topic: str | None = None

    @property
    def takes_all(self) -> bool:
        """Whether nothing is filtered."""
        return self == LetterFilter()

    def takes(self, letter: DeadLetter) -> bool:
        """Whether ``letter`` is meant."""
        return (
            (not self.ids or letter.message_id in self.ids)
            and self.stage in (None, letter.stage)
            and self.reason in (None, letter.reason)
            and self.topic in (None, letter.topic)
        )


_COLUMNS = (
    "stage, reason, detail, errors, topic, partition, offset, record_key, record_value, "
    "arrayMap(header -> (header.name, header.value), record_headers) AS record_headers, record_timestamp, truncated, "
    "clearcall_version, toUnixTimestamp64Milli(died_at) / 1000 AS died_at"
)

_WANTED = """
    (length({ids:Array(String)}) = 0
        OR has({ids:Array(String)}, concat(topic, '/', toString(partition), '/', toString(offset))))
    AND ({stage:String} = '' OR stage = {stage:String})
    AND ({reason:String} = '' OR reason = {reason:String})
    AND ({topic:String} = '' OR topic = {topic:String})
"""

_QUERY = f"""
SELECT {_COLUMNS}
FROM dead_letters_current
WHERE {_WANTED}
ORDER BY dead_letters_current.died_at, topic, partition, offset, stage
LIMIT {{most:UInt64}}
"""  # noqa: S608 - names of ours; what a user gives travels as parameters


def stored_letters(database: Database, wanted: LetterFilter, most: int) -> list[DeadLetter]:
    """The letters that ``wanted`` takes, the oldest first, at most ``most``."""
    return [_letter(row) for row in database.rows(_QUERY, _parameters(wanted) | {"most": most})]


def count_letters(database: Database, wanted: LetterFilter) -> int:
    """How many letters ``wanted`` takes."""
    (row,) = database.rows(f"SELECT count() AS letters FROM dead_letters_current WHERE {_WANTED}", _parameters(wanted))  # noqa: S608 - as above
    return int(row["letters"])


def drop_letters(database: Database, wanted: LetterFilter) -> None:
    """Delete the rows of the letters that ``wanted`` takes; returns when they are gone."""
    database.command(f"DELETE FROM dead_letters WHERE {_WANTED}", _parameters(wanted))  # noqa: S608 - as above


def _parameters(wanted: LetterFilter) -> dict[str, Any]:
    return {
        "ids": list(wanted.ids),
        "stage": wanted.stage or "",
        "reason": wanted.reason or "",
        "topic": wanted.topic or "",
    }


def _letter(row: Mapping[str, Any]) -> DeadLetter:
    return DeadLetter.model_validate(row)
