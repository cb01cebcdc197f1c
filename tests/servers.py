"""Real database servers for tests: started on loopback from Debian's packages, ended again.

Where they are not installed the tests that need them are deselected with one line; with CI=true
their absence is a failure (`tests/conftest.py`).
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

START_S = 20.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def redis_program() -> str | None:
    return shutil.which("redis-server")


def postgres_folder() -> Path | None:
    """The folder of the newest initdb, pg_ctl and postgres."""
    found = [p.parent for p in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    on_path = shutil.which("initdb")
    if on_path:
        found.append(Path(on_path).resolve().parent)
    return max(
        found, key=lambda p: [int(n) for n in p.parent.name.split(".") if n.isdigit()], default=None
    )


def missing_servers() -> list[str]:
    """Name the packages that are not installed here."""
    missing = [] if redis_program() else ["redis-server"]
    return missing if postgres_folder() else [*missing, "postgresql"]


class RedisServer:
    """One redis-server; `append_only` keeps what was acknowledged over a kill."""

    def __init__(self, folder: Path, *options: str, append_only: bool = False) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._folder = folder
        self._options = [*options, "--appendonly", "yes" if append_only else "no"]
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        program = redis_program()
        assert program
        command = [
            *dies_with_us("KILL"),
            program,
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
        ]
        command += ["--dir", str(self._folder), "--appendfsync", "always", *self._options]
        with (self._folder / "redis.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_for_port(self.port, self._process)

    def kill(self) -> None:
        """End it without a chance to save anything."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    stop = kill


class PostgresServer:
    """One cluster in a folder of its own, run as `postgres` where we are root."""

    def __init__(self, folder: Path, *, auth: str = "trust", durable: bool = False) -> None:
        self.port = free_port()
        self.url = f"postgresql://oma@127.0.0.1:{self.port}/postgres"
        self._durable = durable
        self._home = folder
        self._data = folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres")
        password = folder / "password"
        password.write_text("correct horse", encoding="ascii")
        password.chmod(0o644)
        done = subprocess.run(
            self._command(
                "initdb",
                "-D",
                self._data,
                "-A",
                auth,
                "-U",
                "oma",
                "-E",
                "UTF8",
                "--locale",
                "C",
                "--no-sync",
                "--pwfile",
                password,
            ),
            capture_output=True,
            check=False,
            cwd=folder,
        )
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        self.start()

    def start(self) -> None:
        settings = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self._home,
            "fsync": "on" if self._durable else "off",
            "max_connections": 150,
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self._home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command("postgres", "-D", self._data, *options),
                stdout=log,
                stderr=log,
                cwd=self._home,
            )
        wait_for_port(self.port, self._process, self._accepts)

    def _accepts(self) -> bool:
        ready = self._command("pg_isready", "-q", "-h", "127.0.0.1", "-p", self.port)
        return subprocess.run(ready, check=False, cwd=self._home).returncode == 0

    def kill(self) -> None:
        """End all its processes at once: SIGQUIT, the crash that PostgreSQL's own tests use."""
        self._end("immediate")

    def stop(self) -> None:
        self._end("fast")

    def _end(self, mode: str) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        stop = self._command("pg_ctl", "-D", self._data, "-m", mode, "-w", "stop")
        subprocess.run(stop, check=False, capture_output=True, cwd=self._home)
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
            return
        process.kill()
        process.wait()

    def _command(self, program: str, *arguments: object) -> list[str]:
        folder = postgres_folder()
        assert folder
        command = [str(folder / program), *map(str, arguments)]
        if os.geteuid() == 0:
            user = ["--reuid=postgres", "--regid=postgres", "--init-groups"]
            return [*dies_with_us("QUIT"), *user, *command]
        return [*dies_with_us("QUIT"), *command]


def dies_with_us(signal: str) -> list[str]:
    """Let a program end with this process, also when this one is killed."""
    return ["setpriv", f"--pdeathsig={signal}"] if shutil.which("setpriv") else []


def wait_for_port(port: int, process: subprocess.Popen[bytes], ready=lambda: True) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        assert process.poll() is None, "the server ended while it was starting"
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
            if ready():
                return
        time.sleep(0.01)
    raise AssertionError(f"no server on port {port}")


def server_folder(name: str) -> Path:
    """A folder that user postgres may enter too; pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix=f"oma-{name}-"))
    folder.chmod(0o755)
    return folder
