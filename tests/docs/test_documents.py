"""Every example in the documents holds: policies load, decisions come out as written, Python runs."""

from __future__ import annotations

import itertools
import json
import re
import shlex
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from assent.catalog import convert_entry
from assent.cli import exits, main
from assent.cli.arguments import Parser
from assent.config.assentfile import load_policy
from assent.engine import Engine
from assent.model import Facts, Layer, Mode, Session, ToolCall

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^ *```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
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
        yield match.group(1), textwrap.dedent(match.group(2)), text[: match.start()].count("\n") + 2


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
def test_documented_python_runs_and_prints_what_its_comments_say(document, capsys):
    for kind, body, line in blocks(document):
        if kind == "python":
            exec(compile("\n" * (line - 1) + body, str(document), "exec"), {"__name__": "example"})
            promised = re.findall(r"^ *print\(.*\)  # (.+)$", body, re.MULTILINE)
            printed = capsys.readouterr().out.splitlines()
            assert not promised or len(promised) == len(printed), f"{document.name}:{line}"
            for text, said in zip(promised, printed, strict=False):
                assert text in said, f"{document.name}:{line}"


ADAPTERS = ("langchain", "openai_agents", "pydantic_ai")


def test_every_adapter_has_a_page_whose_example_runs_it_and_prints_a_denial():
    for name in ADAPTERS:
        page = (ROOT / "docs" / f"{name.replace('_', '-')}.md").read_text()
        code = "".join(
            body for kind, body, _ in blocks(ROOT / "docs" / f"{name.replace('_', '-')}.md") if kind == "python"
        )
        assert f"assent.sdk.{name}" in code
        assert re.search(r"^ *print\(.*\)  # denied by", code, re.MULTILINE), name
        assert f"assent[{name.replace('_', '-')}]" in page


def test_the_readme_guards_a_tool_in_ten_lines():
    (body,) = [body for kind, body, _ in blocks(ROOT / "README.md") if kind == "python" and "create_agent_app" in body]
    assert len([line for line in body.splitlines() if line.strip()]) <= 10
    assert re.search(r"^print\(.*\)  # denied by", body, re.MULTILINE)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_documented_json_is_json(document):
    for kind, body, _ in blocks(document):
        if kind == "json":
            assert all(isinstance(json.loads(row), dict) for row in body.splitlines())


def typed():
    """Every command of ours in a block for a shell, without what it is joined to."""
    for document in DOCUMENTS:
        for kind, body, line in blocks(document):
            rows = body.replace("\\\n", " ").splitlines() if kind == "sh" else ()
            for row in rows:
                words = shlex.shlex(row, posix=True, punctuation_chars="|&;>")
                words.whitespace_split = True
                for joined, part in itertools.groupby(words, key=lambda word: set(word) <= set("|&;>")):
                    command = list(part)
                    if not joined and command[0] == "assent":
                        yield pytest.param(command[1:], id=f"{document.name}:{line} {row.partition('#')[0].strip()}")


@pytest.mark.parametrize("words", list(typed()))
def test_a_documented_command_is_understood(words, monkeypatch, capsys):
    """Its words are read by the command itself, which then goes no further."""
    read = Parser.parse_args

    def stop(*given):
        read(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(Parser, "parse_args", stop)
    assert main(words) == exits.INTERRUPTED, capsys.readouterr().err


def test_every_block_is_of_a_kind_that_is_tested():
    kinds = {kind for document in DOCUMENTS for kind, _, _ in blocks(document)}
    tested = {"console", "decisions", "json", "python", "sh", "strategy", "yaml"}
    assert kinds == tested | {"text"}
    text = [body for document in DOCUMENTS for kind, body, _ in blocks(document) if kind == "text"]
    (entry,) = (yaml.safe_load(body) for body in text)
    assert convert_entry(entry["sort, gsort"]).does == "sorts lines"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_links_between_documents_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text()):
        assert (document.parent / target).exists(), target
