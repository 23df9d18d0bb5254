"""What the settings name for the consultants, looked at before anything is started: prompts, recordings, fillers."""

from collections.abc import Callable, Iterator
from typing import Any

from clearcall.agents.consultant.prompt import UnreadablePrompt, prompts_of
from clearcall.agents.consultant.recording import UnreadableRecording, read
from clearcall.agents.consultant.stage import Place, places
from clearcall.agents.lexicon import lexicon_of
from clearcall.infra.settings import BadSettings, Settings
from clearcall.infra.team import Team


def require_ready(settings: Settings) -> None:
    """Return where every consultant, at each of its tasks, has what the settings name for it.

    Raises:
        BadSettings: a prompt, a recording or a file of fillers is not there or is none; one line each.
    """
    team = Team.of(settings)
    seats = [place for shadow in ("", *team.shadows) for place in places(team, shadow)]
    if found := dict.fromkeys(problem for place in seats for problem in _problems(team, place)):
        raise BadSettings(found)


def _problems(team: Team, place: Place) -> Iterator[str]:
    name, step = place
    settings = team.settings_of(name, step)
    task = team.track(name, step).task
    whose = f"task {task}: " if task else ""
    checks: list[Callable[[], Any]] = [lambda: prompts_of(settings.prompt), lambda: lexicon_of(settings)]
    if settings.consultant == "recorded":
        checks.append(lambda: _recording(settings, step))
    for check in checks:
        try:
            check()
        except UnreadablePrompt as error:
            yield f"{whose}prompt: {settings.prompt} is no prompt: {error}"
        except UnicodeDecodeError as error:
            yield f"{whose}{settings.prompt or settings.lexicon}: not UTF-8 at byte {error.start}"
        except (ValueError, UnreadableRecording) as error:
            yield f"{whose}{error}"
        except OSError as error:
            yield f"{whose}{error.filename}: {(error.strerror or 'cannot be read').lower()}"


def _recording(settings: Settings, step: int) -> None:
    if step:
        raise ValueError("a recording has no answers to a later task")
    if settings.recording is not None:
        read(settings.recording)
