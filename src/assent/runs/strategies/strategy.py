"""A strategy: a YAML file that says what runs under the guard, as steps or as a process. It may only tighten."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import msgspec

from assent.agents.specs import WIRINGS
from assent.config.settings import read_duration
from assent.config.typed_fields import ConfigField, root_field
from assent.config.yaml_document import Mapping as MappingNode
from assent.config.yaml_document import Node, Scalar, decode_document
from assent.config.yaml_document import YamlSequence as SequenceNode
from assent.model import MODE_ALIASES, ConfigError, Layer, Mode, Origin, Policy, Rule, RuleError
from assent.platform.files import read_file
from assent.policy.rules.match import compile_rule
from assent.policy.rules.parse import parse_rule
from assent.runs.protocol.messages import FlowNode
from assent.runs.strategies.foreign_format import is_foreign, translate
from assent.runs.strategies.input_values import INPUT, holds_input, makes_code
from assent.runs.tools.inputs import TOOLS, RunCommand, ToolInput

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

MODES: dict[str, Mode] = {mode.value: mode for mode in Mode} | MODE_ALIASES
MOST_STEPS = 1000
PROCESS_SECONDS = 3600.0
LONGEST_NUMBER = 18
"""How many digits a number may have; none here is that large."""

_TOP = ("name", "description", "mode", "profile", "interactive", "ask", "deny", "steps", "process")
_STEP = ("name", "agent", "tool", "input", "message", "mode", "profile", "override", "on_error")
_HOOKED = tuple(agent for agent, wiring in WIRINGS.items() if wiring.is_pointable)
_PROCESS = ("agent", "command", "hooks", "timeout", "message")


class StrategyStep(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a guarded tool."""

    name: str
    agent: str
    tool: str
    input: ToolInput
    message: str = ""
    mode: Mode | None = None
    profile: str | None = None
    override: bool = False
    """Ask once more where a session deny would refuse."""
    goes_on: bool = False
    """Its failure does not end the run."""


class Parallel(msgspec.Struct, frozen=True, kw_only=True):
    """Steps that run at the same time."""

    name: str
    steps: tuple[StrategyStep, ...]


class ProcessPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A program that runs under the sandbox, asking the daemon about what it does."""

    agent: str
    command: tuple[str, ...]
    hooks: str | None = None
    """The agent whose hooks are pointed at the daemon; none for a program that asks by itself, or not at all."""
    program: int | None = None
    """Which word of the command starts that agent."""
    timeout: float = PROCESS_SECONDS
    message: str = ""


Flow: TypeAlias = tuple[StrategyStep | Parallel, ...]


class Strategy(msgspec.Struct, frozen=True, kw_only=True):
    """What runs, and what its author tightened."""

    name: str
    path: str
    description: str = ""
    policy: Policy = Policy(layer=Layer.RUN)
    """Its mode, profile and rules, as a layer that can only tighten."""
    flow: Flow = ()
    process: ProcessPlan | None = None

    @property
    def kind(self) -> Literal["steps", "process"]:
        """Tell which of the two kinds it is."""
        return "steps" if self.process is None else "process"

    @property
    def steps(self) -> Iterator[StrategyStep]:
        """Return every step."""
        for part in self.flow:
            yield from part.steps if isinstance(part, Parallel) else (part,)

    @property
    def agents(self) -> tuple[str, ...]:
        """Name everyone who does something in it, once."""
        named = [self.process.agent] if self.process is not None else [step.agent for step in self.steps]
        return tuple(dict.fromkeys(named))

    @property
    def tree(self) -> FlowNode:
        """Show it as a tree."""
        if self.process is not None:
            return FlowNode(self.name, "process", (FlowNode(self.process.agent, "step"),))
        return FlowNode(self.name, "sequence", tuple(map(_node, self.flow)))


def load_strategy(path: str) -> Strategy:
    """Read a strategy, or raise `ConfigError` with the line at fault."""
    return parse_strategy(read_file(path).data, path)


def parse_strategy(data: bytes, path: str) -> Strategy:
    """Read the bytes of a strategy."""
    root = root_field(decode_document(data, path))
    if root is None:
        raise ConfigError("This file is empty.", file=path, suggestion="a strategy has a name, and steps or a process")
    if is_foreign(root):
        root = translate(root)
    top = root.fields(_TOP)
    if "name" not in top:
        raise root.error("A strategy needs a name.")
    if ("steps" in top) == ("process" in top):
        raise root.error("A strategy has either steps or a process.")
    return Strategy(
        name=top["name"].text(),
        path=path,
        description=_take(top, "description", ConfigField.text, ""),
        policy=_policy(top, path),
        flow=_flow(top["steps"]) if "steps" in top else (),
        process=_process(top["process"]) if "process" in top else None,
    )


def _node(part: StrategyStep | Parallel) -> FlowNode:
    if isinstance(part, StrategyStep):
        return FlowNode(part.name, "step")
    return FlowNode(part.name, "parallel", tuple(FlowNode(step.name, "step") for step in part.steps))


def _take(fields: Mapping[str, ConfigField], key: str, read: Callable[[ConfigField], T], default: T) -> T:
    return read(fields[key]) if key in fields else default


def _policy(top: dict[str, ConfigField], path: str) -> Policy:
    return Policy(
        mode=_take(top, "mode", _mode, None),
        profile=_take(top, "profile", ConfigField.text, None),
        interactive=_take(top, "interactive", ConfigField.boolean, None),
        ask=_take(top, "ask", _rules, ()),
        deny=_take(top, "deny", _rules, ()),
        layer=Layer.RUN,
        file=path,
    )


def _mode(field: ConfigField) -> Mode:
    return MODES[field.choice(MODES)]


def _rules(field: ConfigField) -> tuple[Rule, ...]:
    return tuple(_rule(entry) for entry in field.entries())


def _rule(entry: ConfigField) -> Rule:
    try:
        rule = parse_rule(entry.text(), Origin(Layer.RUN, entry.file, entry.node.line))
        compile_rule(rule)
    except RuleError as error:
        raise entry.error(f"{error}.") from None
    return rule


def _flow(field: ConfigField) -> Flow:
    parts: list[StrategyStep | Parallel] = []
    names: set[str] = set()
    for number, entry in enumerate(field.entries(), 1):
        if isinstance(entry.node, MappingNode) and "parallel" in entry.node.items:
            parts.append(_parallel(entry, number, names))
        else:
            parts.append(_step(entry, str(number), names))
    if not parts:
        raise field.error(f"Expected {field.name} not to be empty.")
    return tuple(parts)


def _parallel(entry: ConfigField, number: int, names: set[str]) -> Parallel:
    fields = entry.fields(("name", "parallel"))
    steps = tuple(_step(f, f"{number}.{i}", names) for i, f in enumerate(fields["parallel"].entries(), 1))
    if not steps:
        raise fields["parallel"].error(f"Expected {fields['parallel'].name} not to be empty.")
    return Parallel(name=_take(fields, "name", ConfigField.text, str(number)), steps=steps)


def _step(entry: ConfigField, number: str, names: set[str]) -> StrategyStep:
    fields = entry.fields(_STEP)
    for key in ("agent", "tool", "input"):
        if key not in fields:
            raise entry.error(f"Expected {entry.name} to have {key}.")
    tool = fields["tool"].choice(TOOLS)
    name = _take(fields, "name", ConfigField.text, f"{number} {tool}")
    if name in names:
        raise entry.error(f"Another step is called '{name}'.")
    if len(names) >= MOST_STEPS:
        raise entry.error(f"There are more than {MOST_STEPS} steps in this file.")
    names.add(name)
    return StrategyStep(
        name=name,
        agent=fields["agent"].text(),
        tool=tool,
        input=_input(fields["input"], tool),
        message=_take(fields, "message", ConfigField.text, ""),
        mode=_take(fields, "mode", _mode, None),
        profile=_take(fields, "profile", ConfigField.text, None),
        override=_take(fields, "override", ConfigField.boolean, default=False),
        goes_on=_take(fields, "on_error", lambda f: f.choice(("stop", "continue")), "stop") == "continue",
    )


def _input(field: ConfigField, tool: str) -> ToolInput:
    field.fields(TOOLS[tool].__struct_fields__)
    try:
        given: ToolInput = msgspec.convert(_plain(field.node), TOOLS[tool])
    except msgspec.ValidationError as error:
        raise field.error(f"Invalid {field.name}: {error}.".replace("`", "'")) from None
    if isinstance(given, RunCommand) and not holds_input(given.command):
        raise field.error(f"Expected {INPUT} to stand where a word does, without quotes: it is quoted as it is put in.")
    return given


def _process(field: ConfigField) -> ProcessPlan:
    fields = field.fields(_PROCESS)
    for key in ("agent", "command"):
        if key not in fields:
            raise field.error(f"Expected {field.name} to have {key}.")
    command = tuple(entry.string() for entry in fields["command"].entries())
    if not command or not command[0]:
        raise fields["command"].error(f"Expected {fields['command'].name} to name a program.")
    if makes_code(command):
        raise fields["command"].error(
            f"Expected {INPUT} to be a word of its own, which a script reads as its argument."
        )
    hooks = _take(fields, "hooks", _hooks, None)
    return ProcessPlan(
        agent=fields["agent"].text(),
        command=command,
        hooks=hooks,
        program=None if hooks is None else _program(fields["command"], command, WIRINGS[hooks].program),
        timeout=_take(fields, "timeout", _seconds, PROCESS_SECONDS),
        message=_take(fields, "message", ConfigField.text, ""),
    )


def _hooks(field: ConfigField) -> str:
    """Take the agent whose hooks are to ask; one that would go on without them is none."""
    if isinstance(field.node, Scalar) and (name := field.node.text) in WIRINGS and name not in _HOOKED:
        message = f'Invalid {field.name} "{name}": it cannot be pointed at hooks for one process.'
        raise field.error(message, suggestion=f"run `assent init {name}` once, and leave hooks out")
    return field.choice(_HOOKED)


def _program(field: ConfigField, command: tuple[str, ...], program: str) -> int:
    """Find the word that starts an agent: what it is told follows there."""
    for place, word in enumerate(command):
        if word.rpartition("/")[2] == program:
            return place
    raise field.error(f"Expected {field.name} to start {program}, since its hooks are to ask.")


def _seconds(field: ConfigField) -> float:
    if not isinstance(field.node, Scalar):
        raise field.expected("a time such as 90, 30m or 2h")
    try:
        return read_duration(field.node.text)
    except ValueError as error:
        raise field.error(f"Invalid {field.name}: {error}.") from None


def _plain(node: Node) -> Any:
    """Return what a node stands for, as JSON would have it."""
    match node:
        case MappingNode(items=items):
            return {key: _plain(value) for key, value in items.items()}
        case SequenceNode(items=entries):
            return [_plain(entry) for entry in entries]
        case Scalar(text=text, kind="int") if text.lstrip("-").isdigit() and len(text) <= LONGEST_NUMBER:
            return int(text)
        case Scalar(text=text, kind="float"):
            return _number(text)
        case Scalar(text=text, kind="bool"):
            return text.lower() in ("true", "yes", "on")
        case Scalar(kind="null"):
            return None
        case Scalar(text=text):
            return text


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text
