"""The pages for maintainers are true: links, make targets, tests and words that they name exist."""

from __future__ import annotations

import re

import pytest

from documents import DOCUMENTS, FENCE, ROOT

PAGES = [ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
EVERY_PAGE = [*DOCUMENTS, *PAGES]
THREATS = (ROOT / "docs" / "threat-model.md").read_text()
PROMISES = ROOT / "tests" / "promises"
RECORDS = ROOT / "docs" / "adr"
NOT_PLAIN = re.compile(r"\bcan\s+not\b", re.IGNORECASE)


def headings(page) -> set[str]:
    """Return the anchors of a page's headings, as they are made from their text."""
    found = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def prose(page) -> str:
    """Return a page without its blocks and quotations in code: those are as the program prints them."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text()))


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_a_file_and_to_a_heading_in_it(page):
    for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", page.read_text()):
        file = page.parent / target if target else page
        assert file.exists(), target
        assert not anchor or anchor in headings(file), f"{target}#{anchor}"


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_says_cannot(page):
    assert not NOT_PLAIN.search(prose(page))


def test_every_make_target_that_contributors_are_told_of_exists():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:`|^)make ([a-z]+)\b", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE))
    assert {"setup", "quick", "test", "check", "run"} <= named <= targets


def test_quick_needs_no_system_packages():
    rule = (ROOT / "Makefile").read_text().partition("\nquick:")[2].partition("\n\n")[0]
    assert "pytest" in rule
    assert "tools" not in rule
    assert "system.py" not in rule


def test_every_promise_is_in_the_threat_model_with_the_file_that_tests_it_and_no_other():
    table = THREATS.partition("| # | promise |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(test_\w+\.py)`", table)) == {file.name for file in PROMISES.glob("test_*.py")}


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_test_that_a_page_names_exists(page):
    for name in re.findall(r"`(tests/[\w/.]+)`", page.read_text()):
        assert (ROOT / name).exists(), name


def test_ten_decisions_are_recorded_and_listed():
    files = sorted(file.name for file in RECORDS.glob("0*.md"))
    listed = re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", (RECORDS / "README.md").read_text())
    assert listed == files
    for number, name in enumerate(files, 1):
        text = (RECORDS / name).read_text()
        assert text.startswith(f"# {number}. ")
        assert [f"## {part}" in text for part in ("Situation", "Decision", "Consequences")] == [True] * 3


def test_the_changelog_begins_with_the_version_of_the_package():
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]
    first = re.search(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1]
    assert first == version
