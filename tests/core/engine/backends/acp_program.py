"""A small ACP agent for tests, run as a program: what it does is in the prompt."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

from acp import (
    Agent,
    InitializeResponse,
    NewSessionResponse,
    PromptResponse,
    run_agent,
    start_tool_call,
    update_agent_message_text,
    update_tool_call,
)
from acp.schema import PermissionOption, ToolCallUpdate, UsageUpdate

PROMPTS = []


class Played(Agent):
    """Echoes; `ask KIND`, `refuse`, `limit`, `hang`, `die`, `big`, `child FILE` do as they say."""

    def on_connect(self, conn):
        self.client = conn
        self.stop = asyncio.Event()

    async def initialize(self, protocol_version, client_capabilities=None, client_info=None, **_):
        if "--deaf" in sys.argv:
            await asyncio.Event().wait()
        return InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd, mcp_servers=None, **_):
        self.cwd = cwd
        return NewSessionResponse(session_id="s1")

    async def cancel(self, session_id, **_):
        self.stop.set()

    async def say(self, text):
        await self.client.session_update("s1", update_agent_message_text(text))

    async def prompt(self, prompt, session_id, message_id=None, **_):
        text = prompt[0].text
        PROMPTS.append(text)
        word, _, rest = text.rpartition("\n")[2].partition(" ")
        reason = "end_turn"
        if word == "ask":
            reason = await self.permission(rest)
        elif word == "refuse":
            reason = "refusal"
        elif word == "limit":
            await self.say("half")
            reason = "max_tokens"
        elif word == "hang":
            await self.say("begun")
            await self.stop.wait()
            reason = "cancelled"
        elif word == "die":
            sys.stderr.write("password=hunter2-is-secret\ndisk on fire\n")
            sys.stderr.flush()
            os._exit(3)
        elif word == "big":
            await self.say("x" * 300_000)
        elif word == "child":
            start_child(rest)
            await self.say("started")
        else:
            await self.say(json.dumps({"prompts": PROMPTS, "cwd": self.cwd}))
        used = 100 * len(PROMPTS)
        await self.client.session_update(
            "s1", UsageUpdate(session_update="usage_update", used=used, size=1000)
        )
        return PromptResponse(stop_reason=reason)

    async def permission(self, kind):
        await self.client.session_update(
            "s1", start_tool_call("c1", "change a file", kind=kind, raw_input={"path": "a.txt"})
        )
        options = [
            PermissionOption(option_id="always", name="Always", kind="allow_always"),
            PermissionOption(option_id="once", name="Once", kind="allow_once"),
            PermissionOption(option_id="no", name="No", kind="reject_once"),
        ]
        call = ToolCallUpdate(
            tool_call_id="c1", title="change a file", kind=kind, raw_input={"path": "a.txt"}
        )
        answer = await self.client.request_permission("s1", call, options)
        chosen = getattr(answer.outcome, "option_id", answer.outcome.outcome)
        await self.client.session_update(
            "s1", update_tool_call("c1", status="completed", raw_output=chosen)
        )
        await self.say(chosen)
        return "end_turn"


def start_child(pid_file):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(pid_file).write_text(str(child.pid))


if __name__ == "__main__":
    asyncio.run(run_agent(Played()))
