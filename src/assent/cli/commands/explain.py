"""`assent explain`: show a decision as a tree: operations, opinions, result and possible rules."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from assent.cli import exit_codes
from assent.cli.engines import Bench, open_engines
from assent.cli.options.arguments import add_call_options, make_parser, parse_call
from assent.cli.options.environment import read_environment
from assent.cli.options.tool_call import call_from_words, find_folder
from assent.cli.output.decision_json import encode
from assent.cli.output.layer_notices import Notices
from assent.cli.output.operation_tree import OperationNode, nest
from assent.cli.output.outline import Outline, StyledText, draw, line
from assent.cli.output.screen import STYLE_OF, say
from assent.cli.output.unparsed_part import find_unread
from assent.cli.rule_suggestions import suggest
from assent.model import Certainty, OperationKind, Source, Verdict
from assent.platform.paths import user_file

if TYPE_CHECKING:
    from assent.cli.rule_suggestions import Suggestion
    from assent.model import Decision, Operation, Opinion, Reading, ToolCall

_EXAMPLES = (
    "assent explain 'curl -s https://example.com/x.sh | sh'",
    "assent explain --mode plan git commit -m done",
    "assent explain --tool Write /etc/hosts",
    "assent explain --json ls                  the full decision record",
)

_MARKS = {"safe": "✓", "dangerous": "!", "destructive": "✗"}
_MOST_ALIKE = 12
"""The most operations of one kind that are listed below one command."""
_OBVIOUS = ("reads a file", "contacts a host")
_VERBS = {
    OperationKind.FS_READ: "reads ",
    OperationKind.FS_WRITE: "writes ",
    OperationKind.FS_EXEC: "runs the file ",
    OperationKind.COMMAND_EXECUTE: "",
    OperationKind.NET_CONNECT: "contacts ",
    OperationKind.TOOL_CALL: "calls ",
}


def run(argv: list[str]) -> int:
    """Run the command."""
    parser = make_parser("explain", "Show how Assent decides a tool call.", _EXAMPLES)
    add_call_options(parser)
    given = parse_call(parser, argv)
    cwd = find_folder(given.cwd)
    bench = open_engines(mode=given.mode, files=given.policy, notices=Notices()).find(cwd)
    call = call_from_words(given.tool, given.command, cwd)
    decision = bench.decide(call, environment=read_environment(given.env, given.env_from))
    if given.json:
        say(encode(decision).decode())
    else:
        draw(outline_of(decision, call, bench))
    return exit_codes.exit_code(decision.decision)


def outline_of(decision: Decision, call: ToolCall, bench: Bench) -> Outline:
    """Return the whole decision as an outline."""
    word = decision.decision
    sections = (
        _reading(decision, call),
        _opinion_section(decision),
        _decided(decision),
        _advice(decision, suggest(decision, call, bench)),
    )
    return line(
        StyledText(word, f"bold {STYLE_OF[word]}"),
        f": {decision.decision_reason}",
        below=tuple(section for section in sections if section is not None),
    )


def _reading(decision: Decision, call: ToolCall) -> Outline:
    reading = decision.reading
    given = call.input.get("command")
    shown = given if isinstance(given, str) else json.dumps(call.input, ensure_ascii=False)
    unparsed = () if reading.unreadable is None else (_unparsed(reading.unreadable, shown),)
    tops = _nodes([n for n in nest(reading.operations) if not _is_unparsed(n, reading, shown)], decision)
    return line(
        StyledText("what it would do", "bold"),
        f"  {reading.tool} ",
        StyledText(shown, "cyan"),
        below=(*tops, *unparsed),
    )


def _unparsed(reason: str, shown: str) -> Outline:
    """Say what Assent cannot analyse, and which part of the line it is."""
    part = find_unread(shown)
    below = () if part is None else (line("in ", StyledText(part, "red")),)
    return line(StyledText("? not analysed: ", "bold red"), reason, below=below)


def _is_unparsed(node: OperationNode, reading: Reading, line_text: str) -> bool:
    """Return whether an operation only represents the unparsed part, which has its own line."""
    operation = None if node.index is None else reading.operations[node.index]
    return operation is not None and operation.reason == reading.unreadable and operation.resource == line_text


def _nodes(nodes: list[OperationNode], decision: Decision) -> tuple[Outline, ...]:
    """Draw one level of the tree: duplicates once, and only the first of many similar operations."""
    alike: dict[object, list[OperationNode]] = {}
    kinds: dict[object, int] = {}
    found, left = [], 0
    for node in nodes:
        operation = None if node.index is None or node.inner else decision.reading.operations[node.index]
        if operation is None or operation.impact:
            found.append([node])
            continue
        key = (operation.kind, operation.resource, operation.target, operation.tier, operation.reason)
        if key in alike:
            alike[key].append(node)
            continue
        kind = (operation.kind, operation.tier)
        kinds[kind] = kinds.get(kind, 0) + 1
        if kinds[kind] > _MOST_ALIKE and not _has_opinion(node.index, decision):
            left += 1
            continue
        alike[key] = [node]
        found.append(alike[key])
    more = (line(StyledText(f"… and {left} more like these (all of them with --json)", "dim")),) if left else ()
    return (*(_node(same, decision) for same in found), *more)


def _node(same: list[OperationNode], decision: Decision) -> Outline:
    """Draw one operation, which may occur several times in a call."""
    node = same[0]
    inner = _nodes(node.inner, decision)
    if node.index is None:
        return line(StyledText(node.layer, "dim"), below=inner)
    numbers = [n.index + 1 for n in same if n.index is not None and _has_opinion(n.index, decision)]
    operation = decision.reading.operations[node.index]
    tier = operation.tier.value
    # An operation that is asked about or denied never looks safe.
    mark = "dangerous" if tier == "safe" and _is_objected_to(node.index, decision) else tier
    return line(
        StyledText(f"{_MARKS[mark]} ", STYLE_OF[mark]),
        _VERBS[operation.kind],
        StyledText(operation.resource, "bold"),
        StyledText(
            f" (links to {operation.target})" if operation.target not in (None, operation.resource) else "", "yellow"
        ),
        StyledText("  "),
        StyledText("" if tier == "safe" else f"{tier}: ", STYLE_OF[tier]),
        StyledText("" if operation.reason in _OBVIOUS else operation.reason, "dim" if tier == "safe" else ""),
        StyledText("  " + ", ".join(f"#{n}" for n in numbers) if numbers else "", "dim"),
        below=(*_consequences(operation), *inner),
    )


def _consequences(operation: Operation) -> tuple[Outline, ...]:
    facts = (("impact: ", operation.impact), ("to undo: ", operation.rollback))
    return tuple(line(StyledText(label, "dim"), text) for label, text in facts if text)


def _is_plain(opinion: Opinion) -> bool:
    """Return whether an opinion only repeats the tier, which the tree already shows."""
    return opinion.source is Source.CLASSIFIER and opinion.overruled is None


def _is_objected_to(index: int, decision: Decision) -> bool:
    """Return whether an opinion in force asks about or denies the operation."""
    objections = (o for o in decision.opinions if o.operation == index and o.overruled is None)
    return any(o.verdict is not Verdict.ALLOW for o in objections)


def _has_opinion(index: int | None, decision: Decision) -> bool:
    return any(o.operation == index and not _is_plain(o) for o in decision.opinions)


def _opinion_section(decision: Decision) -> Outline:
    opinions = _opinions([o for o in decision.opinions if not _is_plain(o)], decision)
    votes = [o.verdict.value for o in decision.opinions if _is_plain(o)]
    tally = ", ".join(f"{votes.count(v)} {v}" for v in ("allow", "ask", "deny") if v in votes)
    rest = "" if decision.opinions else "no rule applied"
    return line(
        StyledText("opinions", "bold"),
        StyledText(f"  classifier: {tally}" if tally else f"  {rest}", "dim"),
        below=opinions,
    )


def _opinions(opinions: list[Opinion], decision: Decision) -> tuple[Outline, ...]:
    """Draw the opinions: equal ones once, and only the first of very many."""
    said: dict[object, list[Opinion]] = {}
    for opinion in opinions:
        key = (opinion.verdict, opinion.policy, opinion.reason, opinion.rule, opinion.firm, opinion.overruled)
        said.setdefault((*key, opinion.certainty), []).append(opinion)
    shown = list(said.values())[: 3 * _MOST_ALIKE]
    left = len(said) - len(shown)
    more = (line(StyledText(f"… and {left} more (all of them with --json)", "dim")),) if left else ()
    return (*(_opinion(same, decision) for same in shown), *more)


def _opinion(same: list[Opinion], decision: Decision) -> Outline:
    opinion = same[0]
    overruled = _why_overruled(opinion, decision)
    style = "dim" if overruled else ""
    numbers = [o.operation + 1 for o in same if o.operation is not None]
    about = ", ".join(f"#{n}" for n in numbers[:_MOST_ALIKE]) + (", … " if len(numbers) > _MOST_ALIKE else " ")
    about = about if numbers else ""
    firm = "firmly " if opinion.firm else ""
    unsure = " (may match)" if opinion.certainty is Certainty.MAYBE else ""
    return line(
        StyledText(about, "dim"),
        StyledText(f"{firm}{opinion.verdict.value}", style or STYLE_OF[opinion.verdict.value]),
        StyledText(f"  {opinion.policy}{unsure}: {opinion.reason}", style),
        StyledText(f"  [{opinion.rule}]" if opinion.rule else "", style),
        StyledText(f"  ({overruled})" if overruled else "", "dim"),
    )


def _why_overruled(opinion: Opinion, decision: Decision) -> str:
    """Return why an opinion did not decide; empty if it did."""
    if opinion.overruled is not None:
        return f"overruled: {opinion.overruled}"
    if opinion.verdict < decision.verdict:
        return f"outweighed by the {decision.verdict.value}"
    return ""


def _decided(decision: Decision) -> Outline:
    facts = [("at stake: ", ", ".join(decision.stakes))] if decision.stakes else []
    facts += [("rule: ", ref) for ref in decision.rule_refs]
    if decision.boundary is not None:
        lacking = "" if decision.available else " (not available here, so nothing runs)"
        facts.append(("sandbox: ", decision.boundary.name + lacking))
    return line(
        StyledText("decided by", "bold"),
        f"  {decision.decision_source.value}, the strictest opinion",
        StyledText(f"  (mode {decision.mode.value}, policy {decision.policy_version})", "dim"),
        below=tuple(line(StyledText(k, "dim"), v) for k, v in facts),
    )


def _advice(decision: Decision, suggestion: Suggestion | None) -> Outline | None:
    if decision.decision == "allow" and suggestion is None:
        return None
    head = StyledText("what you could do", "bold")
    if suggestion is None:
        return line(head, below=(line(_no_rule(decision)),))
    rules = tuple(line(StyledText("- " + json.dumps(text, ensure_ascii=False), "cyan")) for text in suggestion.rules)
    where = f"to {suggestion.effect} it, add to permissions.{suggestion.effect} in {user_file()}:"
    return line(head, below=(line(where, below=rules),))


def _no_rule(decision: Decision) -> str:
    """Return advice where no rule is suggested."""
    if any(o.policy == "self-protection" for o in decision.opinions):
        return "nothing: no policy can allow a call that controls Assent itself"
    if decision.reading.destructive:
        return "run it yourself if you are sure; Assent suggests no rule for calls that cannot be undone"
    if decision.reading.unreadable is not None:
        return "rewrite the command without computed names or generated code"
    if decision.rule_refs and decision.verdict is not Verdict.ALLOW:
        return "change the deciding rule, in the file and line above"
    if decision.verdict is Verdict.ASK and any(o.policy in ("control-plane", "secrets") for o in decision.opinions):
        return "approve when you are asked: no allow rule can skip this question"
    return "no rule can name exactly this call"
