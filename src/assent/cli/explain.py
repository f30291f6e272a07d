"""`assent explain`: a decision as a tree, from what was read to what could be done about it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from assent.cli import exits
from assent.cli.answers import encode_record
from assent.cli.arguments import add_call_options, make_parser, parse_call
from assent.cli.calls import call_from_words, find_folder
from assent.cli.engines import Bench, Engines
from assent.cli.notices import Notices
from assent.cli.outlines import Outline, Span, draw, line
from assent.cli.screen import STYLE_OF, say
from assent.cli.suggestions import suggest
from assent.config.places import user_file
from assent.model import Certainty, Verdict

if TYPE_CHECKING:
    from assent.cli.suggestions import Suggestion
    from assent.model import Decision, Operation, Opinion, ToolCall

_EXAMPLES = (
    "assent explain 'curl -s https://example.com/x.sh | sh'",
    "assent explain --mode plan git commit -m done",
    "assent explain --tool Write /etc/hosts",
    "assent explain --json ls                  the full decision record",
)


def run(argv: list[str]) -> int:
    """Run the command."""
    parser = make_parser("explain", "Show how the decision on a tool call comes about.", _EXAMPLES)
    add_call_options(parser)
    given = parse_call(parser, argv)
    cwd = find_folder(given.cwd)
    bench = Engines(mode=given.mode, files=given.policy, notices=Notices()).bench(cwd)
    call = call_from_words(given.tool, given.command, cwd)
    decision = bench.decide(call)
    if given.json:
        say(encode_record(decision).decode())
    else:
        draw(outline_of(decision, call, bench))
    return exits.exit_code(decision.decision)


def outline_of(decision: Decision, call: ToolCall, bench: Bench) -> Outline:
    """Tell the whole story of a decision."""
    word = decision.decision
    return line(
        Span(word, f"bold {STYLE_OF[word]}"),
        f": {decision.decision_reason}",
        below=(
            _reading(decision, call),
            _heard(decision),
            _decided(decision),
            _advice(decision, suggest(decision, call, bench)),
        ),
    )


def _reading(decision: Decision, call: ToolCall) -> Outline:
    reading = decision.reading
    given = call.input.get("command")
    shown = given if isinstance(given, str) else json.dumps(call.input, ensure_ascii=False)
    doubt = () if reading.unreadable is None else (line(Span("could not be read: ", "bold red"), reading.unreadable),)
    tops = tuple(_operation(i, decision) for i, o in enumerate(reading.operations) if not _has_owner(i, o, decision))
    return line(Span("what it would do", "bold"), f"  {reading.tool} ", Span(shown, "cyan"), below=(*tops, *doubt))


def _has_owner(index: int, operation: Operation, decision: Decision) -> bool:
    return (
        operation.owner is not None and operation.owner != index and operation.owner < len(decision.reading.operations)
    )


def _operation(index: int, decision: Decision) -> Outline:
    operation = decision.reading.operations[index]
    owned = (i for i, o in enumerate(decision.reading.operations) if o.owner == index and i != index)
    notes = [Span(f" (through {' > '.join(operation.through)})", "dim")] if operation.through else []
    if operation.target not in (None, operation.resource):
        notes.append(Span(f" (really {operation.target})", "yellow"))
    return line(
        Span(f"#{index + 1} ", "dim"),
        f"{operation.kind} ",
        Span(operation.resource, "bold"),
        *notes,
        ": ",
        Span(operation.tier.value, STYLE_OF[operation.tier.value]),
        f", {operation.reason}",
        below=(*_consequences(operation), *(_operation(i, decision) for i in owned)),
    )


def _consequences(operation: Operation) -> tuple[Outline, ...]:
    facts = (("impact: ", operation.impact), ("to undo it: ", operation.rollback))
    return tuple(line(Span(label, "dim"), text) for label, text in facts if text)


def _heard(decision: Decision) -> Outline:
    opinions = tuple(_opinion(o, decision) for o in decision.opinions)
    return line(Span("who was heard", "bold"), below=opinions or (line(Span("nobody had anything to say", "dim")),))


def _opinion(opinion: Opinion, decision: Decision) -> Outline:
    fate = _fate(opinion, decision)
    style = "dim" if fate else ""
    about = "" if opinion.operation is None else f"#{opinion.operation + 1} "
    firm = "firmly " if opinion.firm else ""
    unsure = " (may match)" if opinion.certainty is Certainty.MAYBE else ""
    return line(
        Span(about, "dim"),
        Span(f"{firm}{opinion.verdict.value}", style or STYLE_OF[opinion.verdict.value]),
        Span(f"  {opinion.policy}{unsure}: {opinion.reason}", style),
        Span(f"  [{opinion.rule}]" if opinion.rule else "", style),
        Span(f"  ({fate})" if fate else "", "dim"),
    )


def _fate(opinion: Opinion, decision: Decision) -> str:
    """Say why an opinion did not decide; nothing if it did."""
    if opinion.overruled is not None:
        return f"overruled: {opinion.overruled}"
    if opinion.verdict < decision.verdict:
        return f"outweighed by the {decision.verdict.value}"
    return ""


def _decided(decision: Decision) -> Outline:
    facts = [
        ("verdict: ", f"{decision.verdict.value}, the strictest that was left"),
        ("because: ", decision.decision_reason),
        ("source: ", decision.decision_source.value),
        *(("rule: ", ref) for ref in decision.rule_refs),
        ("mode: ", decision.mode.value),
        ("policy: ", decision.policy_version),
    ]
    if decision.boundary is not None:
        lacking = "" if decision.available else " (can not be set up here, so nothing runs)"
        facts.append(("sandbox: ", decision.boundary.name + lacking))
    return line(Span("what decided", "bold"), below=tuple(line(Span(k, "dim"), v) for k, v in facts))


def _advice(decision: Decision, suggestion: Suggestion | None) -> Outline:
    head = Span("what you could do", "bold")
    if suggestion is None:
        return line(head, below=(line(_no_rule(decision)),))
    rules = tuple(line(Span("- " + json.dumps(text, ensure_ascii=False), "cyan")) for text in suggestion.rules)
    where = f"to {suggestion.effect} it, add to permissions.{suggestion.effect} in {user_file()}:"
    return line(head, below=(line(where, below=rules),))


def _no_rule(decision: Decision) -> str:
    """Say what is open where no rule is to be suggested."""
    if any(o.policy == "self-protection" for o in decision.opinions):
        return "nothing: no policy lets a call touch Assent itself"
    if decision.reading.destructive:
        return "run it yourself if you are sure; no rule is suggested for what can not be undone"
    if decision.reading.unreadable is not None:
        return "write it so that it can be read: no variables or generated code where the command is"
    if decision.rule_refs and decision.verdict is not Verdict.ALLOW:
        return "change the rule that decided, in the file and line above"
    if decision.verdict is Verdict.ASK and any(o.policy in ("control-plane", "secrets") for o in decision.opinions):
        return "say yes when you are asked: an allow rule takes no such question away"
    return "no rule can name exactly this call"
