"""The window on runs that live in a database: start, watch, decide, resume (issue 3)."""

import shutil
from pathlib import Path

import pytest

from oma_desktop.model.view import OwnerKind, RunRef, RunState
from oma_desktop.store.lease import Lease
from oma_desktop.viewmodel.commands import DecisionIntent, ResumeIntent
from tests.app.support import until
from tests.databases import KINDS, fresh_url, opened, server_of

SAMPLE = Path(__file__).parents[2] / "resources" / "sample"


@pytest.fixture(params=KINDS)
def url(request):
    return fresh_url(request.param, server_of(request, request.param).url)


@pytest.fixture
def run_file(tmp_path, monkeypatch, url):
    monkeypatch.setenv("OMA_DESKTOP_HOME", str(tmp_path / "home"))
    shutil.copytree(SAMPLE, tmp_path / "sample")
    path = tmp_path / "sample" / "run.yaml"
    text = path.read_text("utf-8")
    kept = [line for line in text.splitlines() if not line.startswith("checkpoint:")]
    path.write_text("\n".join([*kept, f'checkpoint: {{path: "{url}"}}', ""]), "utf-8")
    return path


def state(bench, url):
    store = bench.feed.store(url)
    ref = RunRef(url, store.runs[0].key) if store and store.runs else None
    return store.runs[0].state if ref is not None and bench.feed.live(ref) is None else None


async def test_started_decided_while_somebody_else_is_there_and_resumed(bench, url, run_file):
    bench.session.start_run(str(run_file))
    await until(lambda: state(bench, url) is RunState.SUSPENDED)
    store = bench.feed.store(url)
    ref = RunRef(url, store.runs[0].key)
    (asked,) = [a for a in store.approvals if a.open]
    lease = Lease(opened(url), "another run of the same store", app="elsewhere")
    lease.acquire()
    bench.session.decide(DecisionIntent(url, asked.id, asked.request_hash, "approve", "me"))
    await until(lambda: bench.feed.store(url).approvals[0].state == "approved")
    assert bench.feed.store(url).owner_of(ref.key).kind is OwnerKind.NO_WRITER
    bench.session.resume(ResumeIntent(ref))
    await until(lambda: state(bench, url) is RunState.OK)
    assert set(opened(url).glance().leases) == {lease.run}


async def test_a_password_is_neither_shown_nor_kept(bench, url):
    scheme, rest = url.split("://")
    user = "oma:pass-word@" if "oma@" in rest else ":pass-word@"
    bench.session.open_paths([f"{scheme}://{user}{rest.removeprefix('oma@')}"])
    assert bench.session._watched == [url]


async def test_an_address_that_is_none_becomes_a_notice(bench):
    told = []
    bench.feed.notice.connect(told.append)
    bench.session.open_paths(["redis://:a#b@host"])
    assert [n.code for n in told] == ["STORE_ADDRESS_INVALID"]
