"""Every example in the documents holds: policies load, decisions come out as written, Python runs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from assent.config.assentfile import load_policy
from assent.engine import Engine
from assent.model import Facts, Layer, Mode, Session, ToolCall

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FIELDS = {"Read": "file_path", "Write": "file_path", "Edit": "file_path", "WebFetch": "url"}


@dataclass
class Example:
    file: str
    line: int
    policy: str
    verdict: str
    call: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.call}"


def blocks(document: Path):
    text = document.read_text()
    for match in BLOCK.finditer(text):
        yield match.group(1), match.group(2), text[: match.start()].count("\n") + 2


def examples():
    for document in DOCUMENTS:
        policy = "permissions: {}\n"
        for kind, body, line in blocks(document):
            if kind == "yaml":
                policy = body
            if kind == "decisions":
                for offset, row in enumerate(body.splitlines()):
                    verdict, call = row.split(maxsplit=1)
                    yield Example(document.name, line + offset, policy, verdict, call)


def as_call(text: str, cwd: Path) -> ToolCall:
    tool, _, rest = text.partition(" ")
    if tool in FIELDS:
        return ToolCall(tool=tool, input={FIELDS[tool]: rest}, cwd=str(cwd))
    if tool.startswith("mcp__") or tool == "Frobnicate":
        return ToolCall(tool=tool, input={}, cwd=str(cwd))
    return ToolCall(tool="Bash", input={"command": text}, cwd=str(cwd))


@pytest.mark.parametrize("example", list(examples()), ids=str)
def test_a_documented_decision_is_the_decision(example, tmp_path):
    project = tmp_path / "home" / "project"
    project.mkdir(parents=True)
    file = tmp_path / "assent.yaml"
    file.write_text(example.policy)
    engine = Engine(
        [load_policy(str(file), layer=Layer.USER)], facts=lambda: Facts(now=1.8e9, home=str(project.parent))
    )
    decision = engine.decide(as_call(example.call, project), Session(workspace=(str(project),)))
    assert decision.decision == example.verdict, decision.decision_reason


def test_the_documents_show_a_decision_in_every_mode():
    shown = {m for e in examples() for m in re.findall(r"mode: (\w+)", e.policy)}
    assert shown == {m.value for m in Mode}


def test_the_documents_show_what_becomes_of_a_call_that_needs_a_sandbox_where_there_is_none():
    shown = {
        (m, e.verdict) for e in examples() for m in re.findall(r"mode: (\w+)", e.policy) if e.call == "npm install"
    }
    assert {("auto", "ask"), ("on_failure", "unavailable")} <= shown


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_documented_policies_load(document, tmp_path):
    file = tmp_path / "assent.yaml"
    for kind, body, line in blocks(document):
        if kind == "yaml":
            file.write_text(body)
            assert load_policy(str(file), layer=Layer.USER), f"{document.name}:{line}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_documented_python_runs(document, capsys):
    for kind, body, line in blocks(document):
        if kind == "python":
            exec(compile("\n" * (line - 1) + body, str(document), "exec"), {})


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_links_between_documents_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text()):
        assert (document.parent / target).exists(), target
