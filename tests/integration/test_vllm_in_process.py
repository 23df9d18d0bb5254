"""vLLM in process, in vLLM's own Python: the contract of every backend, the tests of a real vLLM, and its end."""

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sysconfig
from pathlib import Path
from typing import Any, cast

import pytest

import local_vllm
from clearcall.agents.consultant.chat import ChatBackend
from clearcall.agents.consultant.in_process import InProcess
from clearcall.agents.protocol import Unavailable
from consultant_cases import CALM, IN_PROCESS, request, until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(local_vllm.TEST_SECONDS)]

HERE = Path(__file__).parent
FILES = ("test_backend_contract.py", "test_vllm.py", "test_vllm_in_process.py")  # the engine's end comes last


@pytest.mark.skipif(IN_PROCESS, reason="this is the run that it starts")
def test_the_engine_in_process_keeps_the_contract_and_passes_the_tests_of_a_real_vllm(
    vllm_folder: Path, tmp_path: Path
) -> None:
    log = tmp_path / "in-process.log"
    paths = [str(local_vllm.ROOT / "src"), str(local_vllm.ROOT / "tests")]
    given = {"TEST_VLLM_FOLDER": str(vllm_folder), "PYTHONPATH": os.pathsep.join(paths)}
    options = [
        *("-o", "filterwarnings=default"),
        *("-o", "asyncio_default_test_loop_scope=session", "-o", "asyncio_default_fixture_loop_scope=session"),
        *("-p", "no:randomly", "-p", "no:cacheprovider"),
    ]
    with log.open("wb") as out:
        done = subprocess.run(
            [
                *(str(local_vllm.PYTHON), str(HERE / "vllm_python.py"), sysconfig.get_path("purelib")),
                *("-q", "-x", *options, *(str(HERE / name) for name in FILES)),
            ],
            env=os.environ | local_vllm.engine_environment() | given,
            stdout=out,
            stderr=out,
            check=False,
            timeout=local_vllm.READY_SECONDS + 900,
        )
    text = log.read_text(errors="replace")
    assert done.returncode == 0, text[-6000:]
    assert " passed" in text


@pytest.mark.skipif(not IN_PROCESS, reason="needs vLLM in this Python: the test above runs it there")
async def test_an_engine_that_is_killed_is_an_outage_and_leaves_nothing_when_it_is_closed(engine: InProcess) -> None:
    backend, running = ChatBackend(engine), cast("Any", engine)

    async def writing() -> bool:
        return bool(running._engine and running._engine._llm.get_num_unfinished_requests())

    asking = asyncio.create_task(backend.answer(request(*CALM)))
    await until(writing)
    for process in multiprocessing.active_children():
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(Unavailable, match="EngineDeadError"):
        await asking
    await engine.close()
    await engine.close()
    assert multiprocessing.active_children() == []
    with pytest.raises(Unavailable, match="closed"):
        await backend.answer(request(*CALM))
