"""The page about the architecture lists the packages of the tree: all of them, no others, in the order of imports."""

from __future__ import annotations

import re
import tomllib

import pytest

from documents import ROOT

SOURCE = ROOT / "src" / "assent"
PAGE = (ROOT / "docs" / "architecture.md").read_text()


def rows(heading: str) -> list[list[str]]:
    """Return the cells of each row in the table whose first column has the heading."""
    table = PAGE.partition(f"| {heading} |")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()[2:]]


def named(cell: str) -> list[str]:
    """Return the names that a cell lists: those outside of parentheses, which explain."""
    return re.findall(r"`([\w/]+)`", re.sub(r"\([^)]*\)", "", cell))


PACKAGES = {named(row[0])[0]: row for row in rows("package")}


def listed(package: str) -> set[str]:
    """Return the sub-packages that the page lists for a package: in its row, or in a table of its own."""
    return {*named(PACKAGES[package][2]), *(named(row[0])[0] for row in rows(f"in `{package}`"))}


def test_the_page_lists_every_package_and_no_other():
    found = {file.parent.name for file in SOURCE.glob("*/__init__.py")}
    assert set(PACKAGES) == found
    assert found <= set(PACKAGES)


@pytest.mark.parametrize("package", sorted(set(PACKAGES)))
def test_the_page_lists_every_sub_package_and_no_other(package):
    folder = SOURCE / package
    found = {str(file.parent.relative_to(folder)) for file in folder.glob("*/**/__init__.py")}
    assert found <= listed(package)
    assert {name for name in listed(package) - found if not (folder / name).is_dir()} == set()


def test_the_page_lists_the_packages_in_the_order_of_imports():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in settings if contract["containers"] == ["assent"])
    place = {name: number for number, layer in enumerate(layers) for name in re.findall(r"\w+", layer)}
    order = [place[name] for name in PACKAGES if name in place]
    assert order == sorted(order)


def test_every_path_of_the_source_that_contributors_are_sent_to_exists():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    cells = re.findall(
        r"^\|[^|]+\| (`[^|]+) \|$", text.partition("| you want to change |")[2].partition("\n\n")[0], re.MULTILINE
    )
    paths = {*(name for cell in cells for name in named(cell)), *re.findall(r"src/assent/([\w/.]*\w)", text)}
    assert {path for path in paths if not (SOURCE / path).exists()} == set()
    assert {path.split("/")[0] for path in paths} >= set(PACKAGES)
