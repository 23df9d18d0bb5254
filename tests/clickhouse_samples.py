"""Messages for the database's tests: small, each field overridable."""

from collections.abc import Sequence

from clearcall.schemas import (
    Alert,
    Attempt,
    Chunk,
    Cleaned,
    ConsultantInfo,
    DeadLetter,
    Distortion,
    Evaluation,
    Failure,
    FlagChange,
    FragmentCheck,
    FragmentScore,
    GuardFlag,
    Outcome,
    Span,
    Status,
    ToolCheck,
)

CONSULTANT = ConsultantInfo(backend="openai", model="qwen", prompt_version="3", decoding="free")


def chunk(call: str = "c1", number: int = 0, text: str = "so um the brakes squeak", speaker: int = 1) -> Chunk:
    return Chunk(call_id=call, chunk_id=number, speaker=speaker, text=text, start=1.5, end=4.25)


def fragment(number: int, score: float, *, flagged: bool | None = None, guard: str | None = None) -> FragmentScore:
    flags = (GuardFlag(guard=guard, reason="said 140, wrote 104", cleaned=Span(start=0, end=3)),) if guard else ()
    return FragmentScore(
        fragment_id=number,
        text=f"The brakes squeak {number}.",
        cleaned=Span(start=number * 10, end=number * 10 + 9),
        ss=score,
        ss_paper=score,
        source_text="um the brakes squeak",
        flagged=bool(flags) or score < 80 if flagged is None else flagged,
        flags=flags,
    )


def attempt(
    iteration: int,
    fragments: Sequence[FragmentScore],
    *,
    flags: Sequence[GuardFlag] = (),
    outcome: Outcome = Outcome.ANSWERED,
    failure: Failure | None = None,
    consultant: ConsultantInfo = CONSULTANT,
    cleaned: str = "The brakes squeak.",
) -> Attempt:
    return Attempt(
        iteration=iteration,
        cleaned=cleaned,
        outcome=outcome,
        failure=failure,
        consultant=consultant,
        flagged=outcome is Outcome.FAILED or bool(flags) or any(each.flagged for each in fragments),
        fragments=tuple(fragments),
        flags=tuple(flags),
    )


def evaluation(of: Chunk, scored: Attempt, at: float = 1_700_000_000.0) -> Evaluation:
    return Evaluation(
        chunk=of,
        attempt=scored,
        mode="strict",
        threshold=80.0,
        fragment_words=20,
        fragment_overlap=3,
        latency_ms=12.5,
        prompt_tokens=100,
        completion_tokens=20,
        clearcall_version="0.1.0",
        evaluated_at=at,
    )


def cleaned(
    of: Chunk, status: Status = Status.CLEAN, attempts: Sequence[Attempt] = (), at: float = 1_700_000_001.0
) -> Cleaned:
    return Cleaned(
        chunk=of,
        text="The brakes squeak.",
        status=status,
        iteration=attempts[-1].iteration if attempts else 0,
        consultant=CONSULTANT,
        attempts=tuple(attempts),
        mode="strict",
        threshold=80.0,
        clearcall_version="0.1.0",
        cleaned_at=at,
    )


def tool_check(*calls: tuple[Distortion, FlagChange], number: int = 0, at: float = 1_700_000_002.0) -> ToolCheck:
    return ToolCheck(
        call_id="c1",
        chunk_id=number,
        iteration=0,
        consultant=CONSULTANT,
        model="small",
        prompt_version="evaluate-1",
        checks=tuple(
            FragmentCheck(
                fragment_id=at_fragment,
                fragment=Distortion.EXACT,
                source=source,
                given_source=None if source is Distortion.EXACT else "the wheels",
                ss=90.0,
                given_ss=None if change is FlagChange.UNSCORED else 40.0,
                change=change,
            )
            for at_fragment, (source, change) in enumerate(calls)
        ),
        mode="strict",
        threshold=80.0,
        clearcall_version="0.1.0",
        checked_at=at,
    )


def alert(state: str = "firing", at: float = 1_700_000_002.5) -> Alert:
    return Alert(
        fingerprint="flagged-rate/qwen",
        state=state,
        monitor="flagged_rate",
        consultant=CONSULTANT,
        observed=0.3,
        reference=0.1,
        p_value=0.001,
        calls=40,
        summary="flagged rate 30%, reference 10%",
        clearcall_version="0.1.0",
        raised_at=at,
    )


def dead_letter(offset: int = 7, *, stage: str = "evaluator", reason: str = "not_json") -> DeadLetter:
    return DeadLetter(
        stage=stage,
        reason=reason,
        detail="not JSON: unexpected character at byte 0",
        errors=("JSONDecodeError: unexpected character",),
        topic="transcripts.drafts",
        partition=2,
        offset=offset,
        record_key="YzE=",
        record_value="AP8=",
        record_headers=(("iteration", "MQ=="), ("empty", None)),
        record_timestamp=1_700_000_000.25,
        clearcall_version="0.1.0",
        died_at=1_700_000_003.0,
    )
