"""Every example in the documents holds: policies load, decisions come out as written, Python runs."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
import yaml

from assent.catalog import convert_entry
from assent.cli import exit_codes, main
from assent.cli.options.arguments import CommandParser
from assent.cli.options.tool_call import BatchLine
from assent.config.assent_yaml import load_policy
from assent.model import Facts, Layer, Mode, Session, ToolCall, Verdict
from assent.policy.engine import Engine
from documents import DOCUMENTS, ROOT, blocks, every_block

JSON_PAGES = ("cli", "daemon", "mcp")
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


def examples():
    for document in DOCUMENTS:
        policy = "permissions: {}\n"
        for block in blocks(document):
            if block.kind == "yaml":
                policy = block.body
            if block.kind == "decisions":
                for offset, row in enumerate(block.body.splitlines()):
                    verdict, call = row.split(maxsplit=1)
                    yield Example(document.name, block.line + offset, policy, verdict, call)


def as_call(text: str, cwd: Path) -> ToolCall:
    tool, _, rest = text.partition(" ")
    if tool in FIELDS:
        return ToolCall(tool=tool, input={FIELDS[tool]: rest}, cwd=str(cwd))
    if tool.startswith("mcp__") or tool == "Frobnicate":
        return ToolCall(tool=tool, input=json.loads(rest or "{}"), cwd=str(cwd))
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
    for block in blocks(document):
        if block.kind == "yaml":
            file.write_text(block.body)
            assert load_policy(str(file), layer=Layer.USER), str(block)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_documented_python_runs_and_prints_what_its_comments_say(document, capsys):
    for block in blocks(document):
        if block.kind == "python":
            exec(compile("\n" * (block.line - 1) + block.body, str(document), "exec"), {"__name__": "example"})
            promised = re.findall(r"^ *print\(.*\)  # (.+)$", block.body, re.MULTILINE)
            printed = capsys.readouterr().out.splitlines()
            assert not promised or len(promised) == len(printed), str(block)
            for text, said in zip(promised, printed, strict=False):
                assert text in said, str(block)


ADAPTERS = ("langchain", "openai_agents", "pydantic_ai")


def test_every_adapter_has_a_page_whose_example_runs_it_and_prints_a_denial():
    for name in ADAPTERS:
        page = ROOT / "docs" / f"{name.replace('_', '-')}.md"
        code = "".join(block.body for block in blocks(page) if block.kind == "python")
        assert f"assent.sdk.frameworks.{name}" in code
        assert re.search(r"^ *print\(.*\)  # denied by", code, re.MULTILINE), name
        assert f"assent[{name.replace('_', '-')}]" in page.read_text()


def test_the_readme_guards_a_tool_in_ten_lines():
    code = [block.body for block in blocks(ROOT / "README.md") if block.kind == "python"]
    (body,) = [body for body in code if "create_agent_app" in body]
    assert len([line for line in body.splitlines() if line.strip()]) <= 10
    assert re.search(r"^print\(.*\)  # denied by", body, re.MULTILINE)


def understands(words: list[str], monkeypatch) -> int:
    """Have words read by the command itself, which then goes no further."""
    read = CommandParser.parse_args

    def stop(*given):
        read(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(CommandParser, "parse_args", stop)
        return main(words)


def test_a_command_that_no_test_runs_is_understood(monkeypatch):
    typed = [shlex.split(line, comments=True) for block in every_block("sh") if block.excuse for line in block.lines]
    ours = [words[1:] for words in typed if words[0] == "assent"]
    assert len(ours) >= 3
    for words in ours:
        assert understands(words, monkeypatch) == exit_codes.INTERRUPTED, words


def json_of(page: str) -> list[dict]:
    return [json.loads(line) for block in blocks(ROOT / page) if block.kind == "json" for line in block.lines]


def test_documented_json_is_what_is_read_and_what_is_answered(monkeypatch):
    """That of the README is held against a daemon's answers, where the rest of the page is tried."""
    assert [msgspec.convert(line, BatchLine) for line in json_of("docs/cli.md")]
    (server,) = json_of("docs/mcp.md")[0]["mcpServers"].values()
    assert server["command"] == "assent"
    assert understands(server["args"], monkeypatch) == exit_codes.INTERRUPTED
    for answer, line in zip(json_of("docs/daemon.md"), ("ls", "node x.js", "rm -rf /"), strict=True):
        decision = Engine([]).decide(ToolCall(tool="Bash", input={"command": line}, cwd="/code"))
        assert (answer["allow"], answer["tier"]) == (decision.verdict is Verdict.ALLOW, decision.reading.tier)
        assert answer["reason"].endswith(decision.decision_reason)
    assert {block.file for block in every_block("json")} == {"README.md", *(f"docs/{n}.md" for n in JSON_PAGES)}


def test_files_of_other_programs_and_entries_of_the_catalog_can_be_read():
    agents, catalog = (yaml.safe_load(block.body) for block in every_block("yml"))
    assert convert_entry(catalog["sort, gsort"]).does == "sorts lines"
    ((hook,),) = (each["hooks"] for each in agents["hooks"]["pre_tool_use"])
    script = (ROOT / "src/assent/agents/hooks/container-hook.sh").read_text()
    waits, margin = (int(re.search(rf"{name}:-(\d+)", script)[1]) for name in ("ASSENT_WAIT", "ASSENT_MARGIN"))
    assert hook["timeout"] > waits + margin


def test_every_block_is_of_a_kind_that_is_tested():
    tested = {"console", "decisions", "json", "python", "sh", "strategy", "yaml", "yml"}
    assert {block.kind for block in every_block()} == tested | {"text"}
    assert [block.file for block in every_block("text")] == ["docs/architecture.md", "docs/concepts.md"]  # drawings
    fences = sum(line.lstrip().startswith("```") for page in DOCUMENTS for line in page.read_text().splitlines())
    assert 2 * len(every_block()) == fences
