"""Logs of the window: kept where they can be, and never the reason why there is no window."""

import faulthandler
import logging

import pytest

from oma_desktop.app import logs


@pytest.fixture(autouse=True)
def _root_as_before():
    root = logging.getLogger()
    handlers, level, was_on = list(root.handlers), root.level, faulthandler.is_enabled()
    yield
    for handler in set(root.handlers) - set(handlers):
        root.removeHandler(handler)
        handler.close()
    root.setLevel(level)
    stream = logs._crash_file.pop("now", None)
    if stream is not None:
        faulthandler.disable()
        stream.close()
        if was_on:
            faulthandler.enable()


def test_a_folder_that_cannot_be_written_costs_the_logs_only(tmp_path, capsys):
    in_the_way = tmp_path / "home"
    in_the_way.write_text("a file")
    assert logs.start_logs(in_the_way / "logs") is None
    assert "no log is kept in" in capsys.readouterr().err
    logging.getLogger("oma").info("quiet")
    assert capsys.readouterr().err == ""


def test_a_native_crash_is_kept_for_the_next_start(tmp_path):
    assert logs.start_logs(tmp_path) is None
    logging.getLogger("oma").warning("told")
    assert "told" in (tmp_path / "oma-desktop.log").read_text("utf-8")
    logs._crash_file["now"].write("Fatal Python error\n")
    logs._crash_file["now"].close()
    found = logs.start_logs(tmp_path)
    assert found is not None
    assert "Fatal" in found.read_text("utf-8")
