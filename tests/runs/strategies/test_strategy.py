"""Strategy files: what they may say, and the line and the reason for what they may not."""

from __future__ import annotations

import pytest

from assent.agents.specs import Pointing
from assent.model import ConfigError, Layer, Mode
from assent.runs.process_run import point_at
from assent.runs.strategies.input_values import holds_input, with_input
from assent.runs.strategies.library import BUNDLED, open_library
from assent.runs.strategies.strategy import Parallel, StrategyStep, parse_strategy
from assent.runs.tools.files import ToolError
from assent.runs.tools.inputs import RunCommand, WriteFile, guarded_name

STEP = "{agent: a, tool: read_file, input: {path: x}}"


def parse(text: str):
    return parse_strategy(text.encode(), "s.yaml")


def test_steps_are_read_with_all_they_can_say():
    strategy = parse(
        """
name: all
description: everything there is
mode: plan
profile: read-only
interactive: false
ask: ["Write(x/**)"]
deny: [Bash(rm:*)]
steps:
  - {name: first, agent: a, tool: write_file, input: {path: p, content: "1"}, message: hello, mode: strict,
     profile: read-only, override: true, on_error: continue}
  - name: both
    parallel:
      - {agent: b, tool: run_command, input: {command: ls, cwd: d, timeout: 2}}
      - {agent: c, tool: search_files, input: {pattern: x}}
"""
    )
    first, both = strategy.flow
    assert isinstance(first, StrategyStep)
    assert (first.name, first.mode, first.profile, first.override, first.goes_on) == (
        "first",
        Mode.STRICT,
        "read-only",
        True,
        True,
    )
    assert isinstance(both, Parallel)
    assert both.steps[0].input == RunCommand("ls", "d", 2.0)
    assert strategy.agents == ("a", "b", "c")
    assert strategy.kind == "steps"
    assert [(n.name, n.kind, len(n.children)) for n in strategy.tree.children] == [
        ("first", "step", 0),
        ("both", "parallel", 2),
    ]
    policy = strategy.policy
    assert (policy.layer, policy.mode, policy.profile, policy.interactive) == (Layer.RUN, Mode.PLAN, "read-only", False)
    assert [r.text for r in (*policy.ask, *policy.deny)] == ["Write(x/**)", "Bash(rm:*)"]
    assert all(r.origin.layer is Layer.RUN for r in (*policy.ask, *policy.deny))


def test_a_process_is_read_with_all_it_can_say():
    strategy = parse(
        "name: p\nprocess: {agent: a, command: [env, /opt/claude, -p], hooks: claude-code, timeout: 2m, message: m}"
    )
    assert strategy.kind == "process"
    assert strategy.process is not None
    assert (strategy.process.command[strategy.process.program], strategy.process.timeout) == ("/opt/claude", 120.0)
    words = point_at(strategy.process, Pointing(("--settings", "f")))
    assert words == ("env", "/opt/claude", "--settings", "f", "-p")
    assert strategy.tree.kind == "process"
    assert strategy.agents == ("a",)


BAD = {
    "": "s.yaml: This file is empty. (a strategy has a name, and steps or a process)",
    "name: x": "s.yaml:1: A strategy has either steps or a process.",
    f"steps: [{STEP}]": "s.yaml:1: A strategy needs a name.",
    f"name: x\nsteps: [{STEP}]\nprocess: {{}}": "s.yaml:1: A strategy has either steps or a process.",
    "name: x\nsteps: []": "s.yaml:2: Expected steps not to be empty.",
    "name: x\nsteps: {}": "s.yaml:2: Expected steps to be an array.",
    "name: x\nsteps:\n- {agent: a, tool: read_file}": "s.yaml:3: Expected steps.0 to have input.",
    "name: x\nsteps:\n- {agent: a, tool: reed_file, input: {}}": 's.yaml:3: Invalid steps.0.tool "reed_file".',
    "name: x\nsteps:\n- {agent: a, tool: read_file, input: {paht: x}}": "s.yaml:3: Unknown configuration field",
    "name: x\nsteps:\n- {agent: a, tool: read_file, input: {}}": "s.yaml:3: Invalid steps.0.input: Object missing",
    "name: x\nsteps:\n- {agent: a, tool: read_file, input: {path: [x]}}": "s.yaml:3: Invalid steps.0.input: Expected",
    "name: x\nsteps:\n- {agent: a, tool: run_command, input: {command: x, timeout: -1}}": "s.yaml:3: Invalid steps.0",
    "name: x\nsteps:\n- {agent: a, tool: run_command, input: {command: x, timeout: %s}}" % ("9" * 5000): (
        "s.yaml:3: Invalid steps.0"
    ),
    "name: x\nsteps:\n- parallel: []": "s.yaml:3: Expected steps.0.parallel not to be empty.",
    f"name: x\nsteps:\n- parallel:\n  - parallel: [{STEP}]": "s.yaml:4: Unknown configuration field",
    f"name: x\nsteps:\n- {STEP[:-1]}, name: n}}\n- {STEP[:-1]}, name: n}}": "s.yaml:4: Another step is called 'n'.",
    f"name: x\nmode: free\nsteps: [{STEP}]": 's.yaml:2: Invalid mode "free".',
    f"name: x\nallow: [Bash]\nsteps: [{STEP}]": "s.yaml:2: Unknown configuration field 'allow'.",
    f"name: x\ndeny: ['Bash(']\nsteps: [{STEP}]": "s.yaml:2: Invalid permission rule",
    "name: x\nprocess: {agent: a}": "s.yaml:2: Expected process to have command.",
    "name: x\nprocess: {agent: a, command: []}": "s.yaml:2: Expected process.command to name a program.",
    "name: x\nprocess: {agent: a, command: [x], hooks: gemini}": 's.yaml:2: Invalid process.hooks "gemini": it cannot '
    "be pointed at hooks for one process. (run `assent init gemini` once, and leave hooks out)",
    "name: x\nprocess: {agent: a, command: [x], hooks: claude}": 's.yaml:2: Invalid process.hooks "claude".',
    "name: x\nprocess: {agent: a, command: [x], hooks: codex}": "s.yaml:2: Expected process.command to start codex",
    "name: x\nprocess: {agent: a, command: [x], timeout: soon}": "s.yaml:2: Invalid process.timeout",
    "name: x\nprocess: {agent: a, command: [x], timeout: [1]}": "s.yaml:2: Expected process.timeout to be a time",
    "name: &a x\nsteps: [*a]": "s.yaml:1: YAML anchors are not supported",
    "name: x\nsteps: &a [*a]": "s.yaml:2: YAML anchors are not supported",
    "name: x\nname: y": "s.yaml:2: Duplicate key 'name'.",
    "name: x\nsteps: " + "[" * 60: "s.yaml:2: nested more than 32 levels deep",
    "name: [": "s.yaml:2: Invalid YAML",
}


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_a_bad_file_is_refused_with_its_line_and_the_reason(text):
    with pytest.raises(ConfigError) as error:
        parse(text)
    assert str(error.value).startswith(BAD[text])


def test_a_file_of_very_many_steps_is_refused():
    with pytest.raises(ConfigError, match="more than 1000 steps"):
        parse("name: x\nsteps:\n" + f"- {STEP}\n" * 1001)


def test_what_a_run_is_given_is_one_word_of_a_command_whatever_is_in_it():
    given = "a'; rm -rf / #"
    assert with_input(RunCommand("grep ${input} x"), given) == {"command": "grep 'a'\"'\"'; rm -rf / #' x"}
    assert with_input(WriteFile("p", "<${input}>"), given) == {"path": "p", "content": f"<{given}>"}


ONE_WORD = ("ls", "grep ${input} x | wc -l", "git commit -m ${input} && ls", "cat > ${input}", "x --name=${input}.txt")
NOT_ONE_WORD = (
    'echo "${input}"',
    "echo '${input}'",
    "bash -c 'echo ${input}'",
    'bash -c "echo ${input}"',
    "echo hi # ${input}",
    "cat <<E\n${input}\nE",
    "cat <<'E'\n${input}\nE",
    "echo $(( ${input} ))",
    "[[ ${input} -eq 1 ]]",
    "echo `echo ${input}`",
    "for i in ${input}; do rm $i; done",
    "X=${input}; $X a",
)


def test_a_command_in_which_what_a_run_is_given_could_be_more_than_a_word_is_refused():
    assert [line for line in ONE_WORD if not holds_input(line)] == []
    assert [line for line in NOT_ONE_WORD if holds_input(line)] == []
    step = "{agent: a, tool: run_command, input: {command: 'echo \"${input}\"'}}"
    with pytest.raises(ConfigError, match=r"s\.yaml:3: Expected \$\{input\} to stand where a word does"):
        parse(f"name: x\nsteps:\n- {step}")


@pytest.mark.parametrize("line", NOT_ONE_WORD[:3])
def test_and_should_one_come_this_far_nothing_is_run(line):
    with pytest.raises(ToolError, match="does not stay one word"):
        with_input(RunCommand(line), "$(touch x)")


@pytest.mark.parametrize("words", ["sh, -c, 'echo ${input}'", "env, python3, -c, 'print(1) # ${input}'"])
def test_what_a_run_is_given_becomes_no_part_of_a_programs_text(words):
    with pytest.raises(ConfigError, match=r"s\.yaml:2: Expected \$\{input\} to be a word of its own"):
        parse(f"name: x\nprocess: {{agent: a, command: [{words}]}}")


def test_every_bundled_strategy_can_be_read_and_says_what_it_is_for():
    found = open_library(None).list()
    assert len(found) >= 3
    assert {strategy.kind for _, strategy in found} == {"steps", "process"}
    assert all(path.startswith(BUNDLED) and strategy.description for path, strategy in found)


def test_the_users_own_strategies_are_listed_and_broken_ones_left_out(tmp_path):
    (tmp_path / "strategies").mkdir()
    (tmp_path / "strategies" / "mine.yaml").write_text(f"name: mine\nsteps: [{STEP}]")
    (tmp_path / "strategies" / "broken.yaml").write_text("name: [")
    assert [s.name for path, s in open_library(str(tmp_path)).list() if not path.startswith(BUNDLED)] == ["mine"]


def test_tools_have_one_guard_whatever_an_agent_calls_them():
    assert guarded_name("Bash") == guarded_name("shell") == "run_command"
    assert guarded_name("Write") == "write_file"
    assert guarded_name("Whatever") == "Whatever"


FOREIGN = """{
  "name": "Answer", "version": "1.0", "description": "asks and answers",
  "agents": {
    "user": {"type": "user", "config": {"requireInput": true}},
    "helper": {"model": "a/b", "systemPrompt": "help", "tools": ["read"]},
    "judge": {"type": "llm", "description": "judges"}
  },
  "flow": {"name": "main", "type": "sequential", "steps": [
    {"agent": "user"},
    {"name": "round", "type": "cycle", "steps": [{"agent": "helper"}, {"agent": "judge"}]}
  ]}
}"""


def test_a_file_of_the_published_design_is_read_and_what_has_no_counterpart_is_named():
    with pytest.raises(ConfigError) as caught:
        parse(FOREIGN)
    error = caught.value
    assert (error.file, error.line) == ("s.yaml", 3)
    assert "nothing for: 'helper' (llm: model, systemPrompt, tools), 'judge' (llm)." in error.message
    assert "the flow (user, helper, judge)" in error.suggestion


MAPPED = """{
  "name": "Note", "version": "1.0", "description": "writes and looks",
  "agents": {
    "user": {"type": "user", "config": {"requireInput": true}},
    "scribe": {"type": "write_file", "description": "writes it", "config": {"path": "n.txt", "content": "${input}"}},
    "left": {"type": "read_file", "config": {"path": "n.txt"}},
    "right": {"type": "list_dir", "config": {"path": "."}},
    "unused": {"type": "run_command", "config": {"command": "ls"}}
  },
  "flow": {"name": "main", "type": "sequential", "steps": [
    {"agent": "user"},
    {"agent": "scribe"},
    {"name": "in two", "type": "sequential", "steps": [{"agent": "left", "description": "look"}]},
    {"name": "at once", "type": "broadcast", "steps": [{"agent": "left"}, {"agent": "right"}]}
  ]}
}"""


def test_a_file_of_the_published_design_runs_if_its_agents_are_guarded_tools():
    ours = """
name: Note
description: writes and looks
steps:
  - {agent: scribe, message: writes it, tool: write_file, input: {path: n.txt, content: "${input}"}}
  - {agent: left, message: look, tool: read_file, input: {path: n.txt}}
  - name: at once
    parallel:
      - {agent: left, tool: read_file, input: {path: n.txt}}
      - {agent: right, tool: list_dir, input: {path: .}}
"""
    assert parse(MAPPED) == parse(ours)


def test_a_file_of_the_published_design_may_start_a_program():
    agents = "{u: {type: user}, p: {type: process, config: {command: [echo, '${input}'], timeout: 5m}}}"
    flow = "{name: f, type: sequential, steps: [{agent: u}, {agent: p}]}"
    ours = "name: x\nprocess: {agent: p, command: [echo, '${input}'], timeout: 5m}"
    assert parse(f"name: x\nversion: '1'\nagents: {agents}\nflow: {flow}") == parse(ours)


@pytest.mark.parametrize(
    ("flow", "said"),
    [
        ("{type: cycle, steps: [{agent: r}]}", "nothing for: a flow of type cycle in line 3."),
        ("{steps: [{agent: r}]}", "nothing for: a flow of type none in line 3."),
        (
            "{type: broadcast, steps: [{type: sequential, steps: []}]}",
            "nothing for: a flow of type broadcast in line 3.",
        ),
        ("{type: sequential, steps: [{agent: nobody}]}", "nothing for: an agent 'nobody'."),
        ("{type: sequential, steps: [{agent: r}, {agent: p}]}", "nothing for: a program beside other steps."),
        ("{type: sequential, steps: [{agent: p}, {agent: p}]}", "nothing for: a program beside other steps."),
        (
            "{type: broadcast, steps: [{agent: r}, {agent: p}]}",
            "Unknown configuration field 'steps.0.parallel.1.command'.",
        ),
        ("{type: sequential, steps: []}", "nothing for: agents."),
        ("{type: sequential, steps: [{agent: wrong}]}", "Unknown configuration field 'steps.0.input.file'."),
        ("{type: sequential, steps: [{agent: bare}]}", "Invalid steps.0.input: Object missing required field 'path'."),
    ],
)
def test_what_of_a_flow_cannot_be_done_is_named(flow, said):
    agents = "{r: {type: read_file, config: {path: a}}, p: {type: process, config: {command: [ls]}}"
    agents += ", wrong: {type: read_file, config: {file: a}}, bare: {type: read_file}}"
    with pytest.raises(ConfigError) as caught:
        parse(f"name: x\nagents: {agents}\nflow: {flow}")
    assert said in str(caught.value)


def test_words_that_a_file_puts_into_a_users_mouth_are_not_said():
    agents = "{u: {type: user, config: {presetMessage: hi}}, r: {type: list_dir, config: {path: .}}}"
    with pytest.raises(ConfigError, match=r"nothing for: 'u' \(user: config\)"):
        parse(f"name: x\nagents: {agents}\nflow: {{type: sequential, steps: [{{agent: u}}, {{agent: r}}]}}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: x\nagents: {}\nflow: {}\nmcpServers: {}", "nothing for: mcpServers."),
        ("name: x\nagents: []\nflow: []", "nothing for: agents."),
        ("name: x\nagents: {a: 1}\nflow: {steps: 3}", "nothing for: 'a' (llm)."),
        ("name: x\nagents: {}\nflow: {}\nmore: 1", "Unknown configuration field 'more'"),
    ],
)
def test_a_damaged_file_of_the_published_design_is_refused_as_well(text, said):
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert said in str(caught.value)
