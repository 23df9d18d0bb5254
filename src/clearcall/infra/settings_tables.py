"""Tables of the settings: several consultants, and tasks one after the other. Each overrides what the rest says."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, model_validator
from typing_extensions import override

Name = Annotated[str, Field(pattern=r"^[a-z0-9-]+$", max_length=64)]

_TASK_KEYS = frozenset({"decoding", "prompt", "mode", "threshold", "guards_off", "reduction_check", "policy"})
_CONSULTANT_KEYS = _TASK_KEYS | {
    *("consultant", "urls", "model", "recording"),
    *("request_shape", "window_words", "context_words", "requests_in_flight", "request_timeout"),
    *("vllm_max_model_len", "vllm_gpu_memory_utilization", "vllm_dtype", "vllm_quantization"),
    *("vllm_tensor_parallel_size", "vllm_enforce_eager"),
}


class _Table(BaseModel):
    """A name, and settings under their own names; what they may be is checked where they are set."""

    model_config = ConfigDict(frozen=True, extra="allow", hide_input_in_errors=True)

    name: Name

    @property
    def given(self) -> dict[str, Any]:
        """The settings that it has, as they were given."""
        return dict(self.model_extra or {})

    @property
    def overrides(self) -> dict[str, Any]:
        """The settings that it changes."""
        return self.given

    @override
    def __str__(self) -> str:
        """For a person: the name, and what is set."""
        found = self.model_dump(exclude_defaults=True, exclude={"name"})
        return f"{self.name} ({', '.join(f'{key} {value}' for key, value in found.items())})" if found else self.name


class ConsultantTable(_Table):
    """One of several: what takes the rest of the calls, a canary, a shadow, or (share 0) one for tasks that name it."""

    share: Annotated[float, Field(ge=0, le=1)] | None = None
    shadow: bool = False
    api_key_file: Path | None = None

    @model_validator(mode="after")
    def _fits(self) -> "ConsultantTable":
        _refuse_unknown(self.given, _CONSULTANT_KEYS | type(self).model_fields.keys())
        if self.shadow and self.share is not None:
            raise ValueError("a shadow answers beside the others and has no share")
        return self

    @property
    @override
    def overrides(self) -> dict[str, Any]:
        """The settings that it changes; servers of its own are asked for their model, and not sent the others' key.

        Raises:
            ValueError: the file with the key cannot be read.
        """
        found = self.given
        if self.api_key_file is not None:
            try:
                found["api_key"] = self.api_key_file.read_text("utf-8").rstrip("\r\n")
            except (OSError, UnicodeDecodeError) as error:
                raise ValueError(f"cannot read {self.api_key_file}") from error
        elif "urls" in found:
            found["api_key"] = ""
        if "urls" in found:
            found.setdefault("model", "")
        if self.shadow:
            found["outage"] = "wait"  # nobody waits for it, and its rows are to be the model's
        return found


class TaskTable(_Table):
    """One of several tasks in order; ``consultant`` names who does it, else whoever answers the call."""

    consultant: str = ""

    @model_validator(mode="after")
    def _fits(self) -> "TaskTable":
        _refuse_unknown(self.given, _TASK_KEYS | type(self).model_fields.keys())
        return self


def _refuse_unknown(given: Iterable[str], known: Collection[str]) -> None:
    if unknown := sorted(set(given) - set(known)):
        raise ValueError(f"{', '.join(unknown)} cannot be set here; what can is {', '.join(sorted(known))}")


def tables_of(value: Any, name: str) -> Any:
    """The tables ``name`` of a file, or as the environment has them: JSON.

    Raises:
        ValueError: it is none, or one table where there may be several.
    """
    try:
        found = orjson.loads(value.strip() or "[]") if isinstance(value, str) else value
    except orjson.JSONDecodeError as error:
        raise ValueError("should be JSON, a list of objects; in a file they are tables") from error
    if not isinstance(found, list | tuple):
        raise ValueError(f"there may be several: write [[{name}]] in a file, a list of objects in the environment")  # noqa: TRY004 - pydantic shows ValueErrors
    return found


def check(consultants: Sequence[ConsultantTable], tasks: Sequence[TaskTable]) -> None:
    """Raise ``ValueError`` where the tables do not fit together."""
    _refuse_twice("consultants", consultants)
    _refuse_twice("tasks", tasks)
    delivered = [each for each in consultants if not each.shadow]
    shares = sum(each.share or 0.0 for each in delivered)
    if shares > 1 + 1e-9:
        raise ValueError(f"[[consultants]] the shares add up to {shares:g}, at most 1")
    rest = [each.name for each in delivered if each.share is None]
    if len(rest) > 1:
        raise ValueError(f"[[consultants]] {', '.join(rest)}: only one can have no share and take the rest")
    known = {each.name for each in delivered}
    for task in tasks:
        if task.consultant and task.consultant not in known:
            raise ValueError(f"[[tasks]] {task.name}: {task.consultant} is no consultant whose answers are delivered")


def _refuse_twice(what: str, tables: Sequence[_Table]) -> None:
    twice = [name for name, count in Counter(table.name for table in tables).items() if count > 1]
    if twice:
        raise ValueError(f"[[{what}]] {', '.join(twice)}: named twice")
