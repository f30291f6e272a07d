"""What the documents say to type into a terminal works, typed in order: each page is read as one session."""

from __future__ import annotations

import itertools
import json
import re
import shutil

import pytest

from documents import DOCUMENTS, ROOT, Block, blocks, every_block
from terminal import Terminal

EXCUSED = {
    ("README.md", "$ make run"): "sets up the environment that the tests run in",
    ("docs/agents/fleets.md", "docker run"): "needs Docker and an image with an agent",
    ("docs/mcp.md", "assent mcp"): "fetches a package, and calls a server elsewhere",
    ("docs/sandbox.md", "assent run --profile agent -- claude"): "needs an agent that somebody is logged in with",
}
"""Every block that no test runs, by its first words, and why: there are few, and a new one is named here."""
DECIDES = re.compile(r"assent (check|explain)\b")
PROJECT = {
    "package.json": '{"scripts": {"test": "true"}}',
    "Makefile": "all:\n\t@true\n",
    "unknown.sh": "#!/bin/sh\ntrue\n",
    "install.sh": "#!/bin/sh\ntouch /var/tmp/installed\n",
}
CALLS = "curl -s --unix-socket ~/.local/share/assent/assent.sock http://localhost/api/"
ASKS = CALLS + "hooks/classify -H 'content-type: application/json' -d '{}'"
SEES = CALLS + '{} -H "authorization: Bearer $(cat ~/.local/share/assent/token)"'
PAGES = [page for page in DOCUMENTS if any(block.kind == "sh" and not block.excuse for block in blocks(page))]


class Reader:
    """Somebody who does what a page says, in a project of their own."""

    def __init__(self, terminal: Terminal, name: str) -> None:
        self.terminal = terminal
        self.project = terminal.home / "code" / name
        self.numbers = itertools.count(1)
        (self.project / ".git").mkdir(parents=True)
        for file, text in PROJECT.items():
            (self.project / file).write_text(text)
            (self.project / file).chmod(0o755)
        terminal.type(f"umask 022; cd {self.project}")

    def save(self, block: Block) -> None:
        """Save a file that is shown with its name."""
        name = re.match(r"# ([\w.]+)\n", block.body)
        if name:
            (self.project / name[1]).write_text(block.body)

    def type(self, line: str) -> None:
        if line.startswith("assent serve"):
            self.terminal.serve(line.partition("#")[0].rstrip())
            return
        wanted = self.fill(line)
        shown = self.terminal.type(wanted)
        good = {0, 3, 4} if DECIDES.match(line) else {0}
        assert shown.code in good, f"`{wanted}` ended with {shown.code}:\n{shown.text}"

    def leave(self) -> None:
        """Leave no agent wired up and no policy: the next page begins as this one did."""
        for folder in (".claude", ".codex", ".gemini", ".config", ".local/share/assent/agents"):
            shutil.rmtree(self.terminal.home / folder, ignore_errors=True)

    def fill(self, line: str) -> str:
        """Put what one sees on the own screen where the page cannot know it."""
        if re.search(r"\b(approve|deny) (ID|hook_…)", line):
            return re.sub(r"\b(approve|deny) (ID|hook_…)", rf"\1 {self.question()}", line)
        if "tok_4f2c9a1b7d30" in line:
            return line.replace("tok_4f2c9a1b7d30", self.ask(SEES.format("tokens"))["tokens"][-1]["id"])
        return self.instead(line) if "dec_…" in line else line

    def ask(self, line: str):
        shown = self.terminal.type(line)
        assert shown.code == 0, shown.text
        return json.loads(shown.text)

    def classify(self, command: str) -> dict:
        call = {"toolName": "bash", "toolInput": {"command": command}, "cwd": str(self.project)}
        return self.ask(ASKS.format(json.dumps(call)))

    def question(self) -> str:
        """Return what waits, and have an agent ask if nothing does."""
        pending = self.ask(SEES.format("permissions"))["pending"]
        if pending:
            return pending[0]["id"]
        first = self.classify("npm test")
        return first.get("requestId") or self.classify(f"node {next(self.numbers)}.js")["requestId"]

    def instead(self, line: str) -> str:
        """Have an agent told what to run instead, as it is where the mode is `auto`: a line such as this."""
        file = self.terminal.home / ".config" / "assent" / "assent.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("permissions: {mode: auto}\n")
        told = self.classify("npm test")["reason"].partition("Run this instead: ")[2]
        assert [told.partition(" ")[0], told.partition(" -- ")[2]] == [
            line.partition(" ")[0],
            line.partition(" -- ")[2],
        ]
        return told


@pytest.fixture(scope="module")
def terminal(tmp_path_factory):
    with Terminal(tmp_path_factory.mktemp("typed")) as opened:
        opened.serve()
        yield opened


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_says_to_type_works_in_order(page, terminal):
    reader = Reader(terminal, page.stem)
    for block in blocks(page):
        if block.kind == "yaml":
            reader.save(block)
        if block.kind == "sh" and not block.excuse:
            for line in block.lines:
                reader.type(line)
    reader.leave()


def test_the_first_five_minutes_are_as_the_readme_has_them(tmp_path_factory):
    """The line that a first start prints is typed; both answers are those that the page shows."""
    asked, allowed = (json.loads(block.body) for block in blocks(ROOT / "README.md") if block.kind == "json")
    with Terminal(tmp_path_factory.mktemp("five")) as terminal:  # short: a socket's path must be
        said = terminal.serve("assent serve --link")
        tried = said.partition("Try it:\n")[2].splitlines()[0].replace("curl ", "curl -s ")
        reader = Reader(terminal, "first")
        told = reader.ask(tried)
        assert told | {"requestId": ""} == asked | {"requestId": ""}
        assert re.fullmatch(r"hook_\d{13}_[0-9a-f]{10}", asked["requestId"])
        reader.type(f"assent approve {told['requestId']}")
        assert reader.ask(tried) == allowed
        assert "requestId" in reader.ask(tried)


def test_few_blocks_are_not_run_and_each_is_known():
    found = {(block.file, block.body): block.excuse for block in every_block() if block.excuse is not None}
    assert len(found) == len(EXCUSED)
    for (file, body), excuse in found.items():
        (known,) = [why for (where, words), why in EXCUSED.items() if where == file and body.startswith(words)]
        assert known == excuse
