"""What the doctor finds."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp import web

from clearcall.infra import clickhouse
from clearcall.infra.settings import Settings, load
from clearcall.schemas import Topic
from clearcall.streams import doctor
from clearcall.streams.doctor import Finding, State, examine
from clearcall.streams.doctor.database import check_database
from clearcall.streams.doctor.evaluator_agent import check_evaluator_agent
from clearcall.streams.doctor.kafka import check_kafka, judge_topics
from clearcall.streams.doctor.model import check_consultant, check_team
from clearcall.streams.topics import TopicState
from model_server import echo, serving
from tool_server import truly

Handler = Callable[[httpx.Request], httpx.Response]


def states(replication: int = 1, **partitions: int | None) -> list[TopicState]:
    return [
        TopicState(topic, topic.value, partitions.get(topic.name, 12), replication, matches=True) for topic in Topic
    ]


@pytest.mark.parametrize(
    ("topics", "changes", "state", "said"),
    [
        (states(), {}, State.OK, "all 9 are there, 12 partitions each"),
        (states(DRAFTS=None), {}, State.FAIL, "missing: transcripts.drafts"),
        (states(DRAFTS=6), {}, State.FAIL, "different numbers of partitions"),
        (states(), {"partitions": 24}, State.WARN, "the settings say 24"),
        (states(), {"replication": 3}, State.WARN, "fewer than 3 replicas"),
    ],
)
def test_topics_must_be_there_and_fit_together(
    topics: list[TopicState], changes: dict[str, Any], state: State, said: str
) -> None:
    finding = judge_topics(topics, Settings().model_copy(update=changes))
    assert finding.state is state
    assert said in finding.what
    assert bool(finding.todo) == (state is not State.OK)


async def test_a_kafka_that_is_away_is_one_finding() -> None:
    (finding,) = await check_kafka(Settings(kafka="127.0.0.1:9"))
    assert (finding.state, finding.what) == (State.FAIL, "127.0.0.1:9 does not answer")
    assert "CLEARCALL_KAFKA" in finding.todo


async def test_a_database_that_is_away_is_one_finding() -> None:
    (finding,) = await check_database(Settings(db="http://127.0.0.1:9/clearcall"))
    assert finding.state is State.FAIL
    assert "does not answer" in finding.what


async def test_a_server_that_accepts_and_stays_silent_is_told_so_whichever_it_is() -> None:
    held = []
    async with await asyncio.start_server(lambda *streams: held.append(streams), "127.0.0.1", 0) as server:
        home = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        settings = Settings(db=f"http://{home}/clearcall", kafka=home, connect_timeout=0.2)
        (database,), (kafka,) = await check_database(settings), await check_kafka(settings)
        for _, writer in held:
            writer.close()
    assert database.what == f"http://{home}/clearcall accepts a connection and does not answer within 0.2 s"
    assert (database.state, kafka.state, kafka.what) == (State.FAIL, State.FAIL, f"{home} does not answer")


async def test_findings_are_told_as_each_check_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    told = asyncio.Event()

    async def slow(_settings: Settings) -> list[Finding]:
        await told.wait()
        return [Finding("slow", State.OK, "")]

    async def quick(_settings: Settings) -> list[Finding]:
        return [Finding("quick", State.OK, "")]

    def seen(findings: list[Finding]) -> None:
        order.extend(finding.part for finding in findings)
        told.set()

    order: list[str] = []
    monkeypatch.setattr(doctor, "_CHECKS", {"slow": slow, "quick": quick})
    assert [finding.part for finding in await examine(Settings(), seen)] == ["slow", "quick"]
    assert order == ["quick", "slow"]


async def test_an_address_that_cannot_be_read_is_one_finding() -> None:
    (finding,) = await check_database(Settings(db="http://me:hunter2@host/x"))
    assert (finding.state, finding.todo) == (State.FAIL, "correct CLEARCALL_DB or --db")
    assert "hunter2" not in finding.what


async def test_an_embedded_database_is_not_created_by_looking_at_it(tmp_path: Path) -> None:
    (finding,) = await check_database(Settings(db=f"chdb://{tmp_path / 'db'}"))
    assert finding.state is State.WARN
    assert not (tmp_path / "db").exists()


async def test_a_missing_client_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_settings: Settings) -> None:
        raise clickhouse.MissingExtra("chdb is missing: pip install 'clearcall[embedded]'")

    monkeypatch.setattr(clickhouse, "check", missing)
    (finding,) = await check_database(Settings())
    assert (finding.what, finding.todo) == ("chdb is missing", "pip install 'clearcall[embedded]'")


@pytest.mark.parametrize("pending", [True, False])
async def test_pending_migrations_are_a_failure(monkeypatch: pytest.MonkeyPatch, pending: bool) -> None:
    class Database:
        address = "http://here"

        def close(self) -> None: ...

    applied = clickhouse.State(1, "tables", 1.0)
    monkeypatch.setattr(clickhouse, "connect", lambda _settings, _seconds: Database())
    second = clickhouse.State(2, "views", None if pending else 2.0)
    monkeypatch.setattr(clickhouse, "status", lambda _database: (applied, second))
    answers, migrations = await check_database(Settings())
    assert answers.state is State.OK
    assert migrations.state is (State.FAIL if pending else State.OK)
    assert migrations.todo == ("clearcall db migrate" if pending else "")


def serve(monkeypatch: pytest.MonkeyPatch, handler: Handler) -> None:
    monkeypatch.setattr(httpx, "AsyncClient", partial(httpx.AsyncClient, transport=httpx.MockTransport(handler)))


def lists(*models: str) -> Handler:
    return lambda _request: httpx.Response(200, json={"data": [{"id": model} for model in models]})


@pytest.mark.parametrize(
    ("handler", "model", "state", "said"),
    [
        (lists("qwen"), "", State.OK, "http://gpu/v1 answers and serves qwen"),
        (lists("a", "qwen"), "qwen", State.OK, "serves qwen"),
        (lists("a", "b"), "qwen", State.FAIL, "does not serve qwen, but a, b"),
        (lists(), "", State.FAIL, "lists no model"),
        (lambda _request: httpx.Response(401), "", State.FAIL, "wants a key"),
        (lambda _request: httpx.Response(404), "", State.FAIL, "HTTP 404"),
        (lambda _request: httpx.Response(200, text="<html>"), "", State.FAIL, "lists no model"),
        (lambda _request: httpx.Response(200, json=[1]), "", State.FAIL, "lists no model"),
    ],
)
async def test_a_model_server_must_serve_the_model(
    monkeypatch: pytest.MonkeyPatch, handler: Handler, model: str, state: State, said: str
) -> None:
    serve(monkeypatch, handler)
    (finding,) = await check_consultant(Settings(urls=("http://gpu/v1",), model=model))
    assert finding.state is state
    assert said in finding.what
    assert bool(finding.todo) == (state is not State.OK)


async def test_the_evaluator_agent_is_looked_at_where_it_is_on_and_has_to_call_the_function() -> None:
    assert await check_evaluator_agent(Settings()) == []

    def refuse(_body: dict[str, Any]) -> web.Response:
        return web.Response(status=400, text="requires --tool-call-parser to be set")

    for answer, state, said in (
        (truly, State.OK, "calls the scoring function"),
        (echo, State.WARN, "answers without calling the function"),
        (refuse, State.WARN, "takes no tools: HTTP 400"),
    ):
        async with serving(answer) as url:
            found = await check_evaluator_agent(Settings(evaluator_agent="tools", evaluator_agent_urls=(url,)))
        assert [finding.part for finding in found] == ["evaluator agent"] * 2
        assert (found[1].state, found[1].what) == (state, said)
        assert ("--tool-call-parser" in found[1].todo) == (state is State.WARN)


async def test_what_is_amiss_with_the_evaluator_agents_servers_is_told_by_its_own_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    serve(monkeypatch, lists("small"))
    on: dict[str, Any] = {"evaluator_agent": "tools", "evaluator_agent_urls": ("http://small/v1",)}
    (amiss,) = await check_evaluator_agent(Settings(**on, evaluator_agent_model="large"))
    assert amiss.state is State.WARN
    assert amiss.todo == "correct CLEARCALL_EVALUATOR_AGENT_MODEL"


async def test_a_model_server_that_is_away_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    serve(monkeypatch, refuse)
    (finding,) = await check_consultant(Settings())
    assert (finding.state, finding.what) == (State.FAIL, "http://localhost:8000/v1 does not answer: ConnectError")


async def test_servers_of_different_models_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, lambda request: httpx.Response(200, json={"data": [{"id": request.url.host}]}))
    *each, together = await check_consultant(Settings(urls=("http://a/v1", "http://b/v1")))
    assert [finding.state for finding in each] == [State.OK, State.OK]
    assert (together.state, together.what) == (State.FAIL, "the URLs serve different models: a, b")


async def test_the_key_is_sent_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = []

    def handler(request: httpx.Request) -> httpx.Response:
        sent.append(request.headers["Authorization"])
        return httpx.Response(403)

    serve(monkeypatch, handler)
    (finding,) = await check_consultant(Settings.model_validate({"api_key": "hunter2"}))
    assert sent == ["Bearer hunter2"]
    assert "hunter2" not in f"{finding}"


async def test_rules_and_recordings_need_no_server(tmp_path: Path) -> None:
    (rules,) = await check_consultant(Settings(consultant="rules"))
    assert rules.state is State.OK
    (absent,) = await check_consultant(Settings(consultant="recorded", recording=tmp_path / "none"))
    (tmp_path / "answers").touch()
    (none,) = await check_consultant(Settings(consultant="recorded", recording=tmp_path / "answers"))
    assert (absent.state, none.state) == (State.FAIL, State.FAIL)
    (tmp_path / "answers").write_text(
        '{"model": "m", "server": "s", "quantisation": "q", "settings": {}, "decoding": "free", "prompt_versions": [],'
        ' "recorded_at": "2026", "clearcall_version": "0"}\n'
    )
    (there,) = await check_consultant(Settings(consultant="recorded", recording=tmp_path / "answers"))
    assert there.state is State.OK


async def test_a_check_that_breaks_is_a_finding_and_the_others_still_tell_theirs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def broken(_settings: Settings) -> None:
        raise RuntimeError("odd")

    async def missing(_settings: Settings) -> None:
        raise ModuleNotFoundError("No module named 'aiokafka'", name="aiokafka")

    monkeypatch.setitem(doctor._CHECKS, "ClickHouse", broken)
    monkeypatch.setitem(doctor._CHECKS, "Kafka", missing)
    kafka, database, consultant = await examine(Settings(consultant="rules"))
    assert (kafka.state, kafka.todo) == (State.FAIL, "pip install 'clearcall[worker]'")
    assert (database.state, database.what) == (State.FAIL, "RuntimeError: odd")
    assert consultant.state is State.OK


async def test_vllm_in_process_needs_vllm_and_the_models_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(consultant="vllm", model=str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    (absent,) = await check_consultant(settings)
    assert (absent.state, absent.todo) == (State.FAIL, "pip install 'clearcall[vllm]'")
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: object())
    (empty,) = await check_consultant(settings)
    (tmp_path / "config.json").touch()
    (there,) = await check_consultant(settings)
    assert (empty.state, there.state) == (State.FAIL, State.OK)


async def test_every_consultant_is_looked_at_by_its_name_and_a_dead_shadow_is_worth_a_look() -> None:
    away = {"consultant": "openai", "urls": ["http://127.0.0.1:9/v1"]}
    tables = [{"name": "main"}, {"name": "canary", "share": 0.1, **away}, {"name": "next", "shadow": True, **away}]
    found = await check_team(load(consultant="rules", consultants=tables))
    assert [(finding.part, finding.state) for finding in found] == [
        ("consultant main", State.OK),
        ("consultant canary", State.FAIL),
        ("consultant next", State.WARN),
    ]


async def test_a_prompt_that_does_not_exist_is_found_whatever_task_it_is_of() -> None:
    tasks = [{"name": "one"}, {"name": "two", "prompt": "format-numbers-99"}]
    *_, found = await check_team(load(consultant="rules", tasks=tasks))
    assert (found.part, found.state) == ("prompt", State.FAIL)
    assert found.what.startswith("the prompt format-numbers-99 does not exist; there are clean-1, ")
