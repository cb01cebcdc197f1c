"""Asking whether anybody is there: who is asked, once; what a slow or stopped question gives."""

import asyncio
from pathlib import Path

from oma_desktop.base.clock import SystemClock
from oma_desktop.engine.cancel import CancelToken, StopReason
from oma_desktop.engine.launching.connections import check_connections
from tests.core.engine.llm.loopback import Answer, Loopback, turn
from tests.core.engine.test_wiring import run_file


async def asked(run, **options):
    return await check_connections(
        run,
        base_dir=Path(),
        clock=SystemClock(),
        environ={},
        stored=lambda provider: None,
        **options,
    )


def of(server, **more):
    return {"model": "m", "provider": "openai", "baseURL": server.base_url, **more}


async def test_coordinator_and_routes_are_asked_too():
    async with Loopback(lambda _request: turn(text="OK")) as server:
        rule = {"match": {}, "route": {"model": "big"}}
        run = run_file(
            {"a": of(server)},
            orchestrator={"modelRouting": {"rules": [rule]}},
            coordinator={"model": "planner", "baseURL": server.base_url},
            goal="g",
            tasks=None,
        )
        found = await asked(run)
        models = [request.body["model"] for request in server.requests]
    assert sorted({one.model for one in found}) == ["big", "m", "planner"]
    assert sorted(models) == sorted(one.model for one in found)
    assert [one.error for one in found] == [None] * len(found)


async def test_the_rest_of_the_answer_is_not_waited_for():
    beginning = b'data: {"choices":[{"delta":{"content":"O"}}]}\n\n'
    async with Loopback([Answer(beginning, hang=True)]) as server:
        (one,) = await asked(run_file({"a": of(server)}))
        await asyncio.wait_for(server.client_gone.wait(), 5)
    assert one.error is None


async def test_no_answer_in_time():
    async with Loopback([Answer(hang=True)]) as server:
        (one,) = await asked(run_file({"a": of(server)}), limit_s=0.05)
        await asyncio.wait_for(server.client_gone.wait(), 5)
    assert one.error.code == "LLM_NO_ANSWER"
    assert one.latency_s is None


async def test_a_stop_ends_the_asking():
    token = CancelToken()
    async with Loopback([Answer(hang=True)]) as server:
        run = run_file({"a": of(server), "b": of(server, model="n")})

        async def stop():
            await server.hanging.wait()
            token.stop(StopReason.CANCEL)

        found, _ = await asyncio.wait_for(asyncio.gather(asked(run, token=token), stop()), 5)
        assert len(server.requests) == 1
    assert [one.error.code for one in found] == ["LLM_CALL_ABORTED"] * 2
