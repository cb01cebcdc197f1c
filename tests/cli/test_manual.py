"""Every example of the manual is a run file that `check` accepts."""

import re

import pytest

from tests.cli.conftest import ROOT

MANUAL = ROOT / "resources" / "docs" / "run-files.md"
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```", MANUAL.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_the_manual_has_examples():
    assert len(EXAMPLES) >= 9


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.split("name: ")[1].split()[0])
def test_an_example_is_a_run_file(cli, tmp_path, example):
    file = tmp_path / "run.yaml"
    file.write_text(example, "utf-8")
    done = cli("check", file, "--json")
    assert (
        done.json == {"ok": True, "kind": "run file", "problems": []} or done.json["problems"] == []
    )
    assert done.code == 0
