"""Every example of the manual is a run file, and every link of a page leads to a file."""

import re

import pytest

from tests.cli.conftest import ROOT

MANUAL = ROOT / "resources" / "docs" / "run-files.md"
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "resources").rglob("*.md")),
    *sorted((ROOT / "packaging").glob("*.md")),
]
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


def targets(page):
    """The files a page links to, or shows as a picture."""
    found = re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8"))
    return [target.partition("#")[0] for target in found if "://" not in target]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_to_a_file(page):
    assert [t for t in targets(page) if t and not (page.parent / t).is_file()] == []


def test_the_pages_are_linked_and_the_scripts_page_has_one_place():
    linked = {(page.parent / t).resolve() for page in PAGES for t in targets(page) if t}
    assert {ROOT / "resources/docs" / n for n in ("run-files.md", "scripts.md")} <= linked
    named = [re.findall(r"[\w./-]*docs/scripts\.md", page.read_text("utf-8")) for page in PAGES]
    assert {place for places in named for place in places} == {"resources/docs/scripts.md"}
