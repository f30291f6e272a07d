"""Every look that obeys a project's settings is asked about where these settings run code, and nowhere else.

The looks are the catalog's own examples: each that asked for a tool's settings is held against each way to plant them.
"""

from __future__ import annotations

import subprocess
from collections import defaultdict
from typing import get_args

import pytest

import assent.lazy_regex as re
from assent.catalog import entries, parse_entry
from assent.catalog.project_code import SIGNS, Sign
from assent.catalog.schema import Kind
from assent.model import Facts, Session, ToolCall
from assent.platform.repository_settings import find_trap
from assent.policy.engine import Engine

KINDS = tuple(kind for kind in get_args(Kind) if kind)

TEXTS = (
    "fix = true\n",
    '{"jsonlint": {}}\n',
    "[build]\nrustc-wrapper = './x'\n",
    "[toolchain]\npath = './x'\n",
    '{"packageManager": "yarn@4"}\n',
    '{"sdk": {"paths": ["./x"]}}\n',
    "[hooks]\n",
    "pnpmfile: ./x\n",
    "yarnPath: ./x\n",
    'yarn-path "./x"\n',
    "write-changes =\n",
    "customLanguages: {x: {libraryPath: ./x.so}}\n",
    "./x/bin/python\n",
    "registry=https://x.example\n",
    "backend: {url: https://x.example}\n",
    "CLOUDFLARE_API_BASE_URL=https://x.example\n",
    "BUN_CONFIG_REGISTRY=https://x.example\n",
    "SENTRY_URL=https://x.example\n",
    '{"plugin": ["./x"]}\n',
)
"""Of these at least one is what a sign looks for."""

GIT = (
    "[core]\n\tfsmonitor = ./x\n",
    "[core]\n\thooksPath = ./x\n",
    "[core]\n\tattributesFile = ./x\n",
    "[core]\n\tsshCommand = ./x\n",
    "[core]\n\tpager = ./x\n",
    "[diff]\n\texternal = ./x\n",
    '[diff "d"]\n\tcommand = ./x\n',
    '[diff "d"]\n\ttextconv = ./x\n',
    '[man "man"]\n\tpath = ./x\n',
    '[browser "firefox"]\n\tpath = ./x\n',
    '[trailer "t"]\n\tcmd = ./x\n',
    '[lfs "extension.x"]\n\tclean = ./x\n',
    "[delta]\n\tpager = ./x\n",
    '[filter "f"]\n\tclean = ./x\n',
    '[filter "f"]\n\tprocess = ./x\n',
    "[log]\n\tshowSignature = true\n[gpg]\n\tprogram = ./x\n",
    '[gpg "ssh"]\n\tprogram = ./x\n',
    "[include]\n\tpath = ../x\n",
    "[credential]\n\thelper = ./x\n",
    '[remote "origin"]\n\tuploadpack = ./x\n',
    '[url "ext::./x"]\n\tinsteadOf = https://a\n',
    "[alias]\n\tst = !./x\n",
    '[merge "m"]\n\tdriver = ./x\n',
    '[tar "x"]\n\tcommand = ./x\n',
    "[protocol]\n\tallow = always\n",
)


class Looks:
    """The catalog's safe examples, decided in one folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.asked: set[tuple[str, str]] = set()
        facts = Facts(home="/home/u", resolve=lambda path: path, trap=self.trap)
        self.engine = Engine((), facts=lambda: facts)
        self.session = Session(user="u", agent="a", id="s", workspace=(folder,))

    def trap(self, tool: str, folder: str) -> str | None:
        self.asked.add((tool, folder))
        return find_trap(tool, folder)

    def allows(self, line: str) -> bool:
        self.asked.clear()
        call = ToolCall(tool="Bash", input={"command": line}, cwd=self.folder)
        return self.engine.decide(call, self.session).decision == "allow"


@pytest.fixture(scope="module")
def readers(tmp_path_factory):
    """Give for each tool the looks that obey its settings in the folder they run in."""
    looks = Looks(str(tmp_path_factory.mktemp("clean")))
    found: dict[str, list[str]] = defaultdict(list)
    for part in entries():
        for line in parse_entry(part).examples.safe:
            if looks.allows(line):
                for tool in {tool for tool, folder in looks.asked if folder == looks.folder}:
                    found[tool].append(line)
    return found


def plant(folder, sign: Sign) -> None:
    path = folder / sign.name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(next(text for text in TEXTS if re.search(sign.text, text)))


def init(folder) -> None:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "ansible"])
def test_every_kind_of_settings_has_looks_that_obey_it(readers, kind):
    assert readers[kind]


@pytest.mark.parametrize(
    ("tool", "sign"), [pytest.param(t, s, id=f"{t}-{s.name}") for t, signs in SIGNS.items() for s in signs]
)
def test_a_file_that_names_code_stops_every_look_that_obeys_it(readers, tmp_path, tool, sign):
    plant(tmp_path, sign)
    looks = Looks(str(tmp_path))
    assert [line for line in readers[tool] if looks.allows(line)] == []


@pytest.mark.parametrize("tool", ["python", "pip"])
def test_a_module_that_takes_the_place_of_python_s_own_stops_every_look(readers, tmp_path, tool):
    (tmp_path / "json.py").write_text("")
    looks = Looks(str(tmp_path))
    assert [line for line in readers[tool] if looks.allows(line)] == []


@pytest.mark.parametrize("text", GIT, ids=lambda text: text.split("=")[0].split()[-1])
def test_a_setting_of_git_that_names_code_stops_its_looks(readers, tmp_path, text):
    init(tmp_path)
    looks = Looks(str(tmp_path))
    some = readers["git"][::8]
    assert [line for line in some if not looks.allows(line)] == []
    with (tmp_path / ".git/config").open("a") as file:
        file.write(text)
    assert [line for line in some if looks.allows(line)] == []


def test_no_look_of_git_is_left_out(readers, tmp_path):
    init(tmp_path)
    with (tmp_path / ".git/config").open("a") as file:
        file.write(GIT[0])
    looks = Looks(str(tmp_path))
    assert [line for line in readers["git"] if looks.allows(line)] == []
