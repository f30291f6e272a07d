"""What is probably not meant: rules that never take effect, allow too much, or are not what they look like.

Every list of a policy is looked through: rules, path policies, forbidden globs and command patterns.
"""

from __future__ import annotations

import contextlib
import difflib
import shlex
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec

import assent.lazy_regex as re
from assent.analysis.read import read
from assent.analysis.resources.paths import place_of
from assent.analysis.tools.names import TOOLS, find_tool
from assent.model import Effect, Facts, Layer, Mode, Origin, Policy, Rule, RuleError, Session, Tier, ToolCall, is_hidden
from assent.policy.rules.containment import contains
from assent.policy.rules.describe import phrase
from assent.policy.rules.match import Matcher, compile_rule
from assent.policy.rules.patterns import unquoted

RUNS_ANYTHING = frozenset(
    [
        "ash",
        "bash",
        "bun",
        "bunx",
        "busybox",
        "chroot",
        "cmd",
        "command",
        "csh",
        "dash",
        "deno",
        "doas",
        "docker",
        "env",
        "eval",
        "exec",
        "find",
        "fish",
        "ksh",
        "lua",
        "make",
        "nice",
        "node",
        "nohup",
        "npx",
        "nsenter",
        "osascript",
        "parallel",
        "perl",
        "php",
        "podman",
        "powershell",
        "pwsh",
        "python",
        "python2",
        "python3",
        "rlwrap",
        "ruby",
        "script",
        "setsid",
        "sh",
        "ssh",
        "strace",
        "su",
        "sudo",
        "tclsh",
        "time",
        "timeout",
        "tsx",
        "unshare",
        "uv",
        "uvx",
        "watch",
        "xargs",
        "zsh",
    ]
)
_KNOWN_TOOLS = tuple(t.name for t in TOOLS)
_STRICTEST_FIRST = ("deny", "ask", "allow")
_FOLDER = "/project"
Severity: TypeAlias = Literal["error", "warning", "hint"]
_ODDITIES: tuple[tuple[re.Pattern[str], Severity, str, str], ...] = (
    (
        re.compile(r"&&|\|\||[;|<>\n]|\$\(|`|(?<!&)&(?!&)"),
        "error",
        "it can never match: a rule looks at one command at a time",
        "write one rule for each command",
    ),
    (
        re.compile(r"['\"]"),
        "error",
        "a quote in it has no end",
        "end it, or write a backslash before one that is meant",
    ),
    (
        re.compile(r"(?:^|\s)~|\$[\w{]"),
        "warning",
        "it is compared with words in which `~` and variables are already resolved",
        "write out what they stand for",
    ),
)
"""What the pattern of a command has outside of quotes only by mistake."""


class LintFinding(msgspec.Struct, frozen=True):
    """One thing to look at."""

    severity: Severity
    message: str
    rule: str = ""
    origin: Origin = Origin()
    suggestion: str = ""


class ListedRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule, or a pattern, with the list it stands in."""

    index: int
    effect: Effect
    name: str
    """The list, as it is called in a file."""
    layer: Layer
    counts: bool
    """Whether it has a say: a project's allow counts once the project is trusted."""
    matchers: tuple[Matcher, ...]
    """One, or two where a glob is about reads and writes."""

    @property
    def matcher(self) -> Matcher:
        """Return what is to be looked at: where there are two, they differ in the tool alone."""
        return self.matchers[0]

    @property
    def rule(self) -> Rule:
        """Return the rule itself."""
        return self.matcher.rule

    @property
    def text(self) -> str:
        """Return what the author wrote."""
        return _written(self.name, self.rule)

    @property
    def firm(self) -> bool:
        """Tell whether it, as an ask, holds in every mode and under every grant."""
        return self.rule.every_time or self.layer is Layer.MANAGED


def lint(policies: Sequence[Policy], now: float | None = None) -> list[LintFinding]:
    """Look through all layers together."""
    findings = [f for p in policies for f in _policy(p)]
    entries: list[ListedRule] = []
    for policy in policies:
        for effect, name, rules in _lists(policy):
            try:
                entries.append(_entry(len(entries), policy, effect, name, rules))
            except RuleError as error:
                findings.append(
                    LintFinding("error", str(error), f"{name}: {_written(name, rules[0])}", rules[0].origin)
                )
    for entry in entries:
        findings += [*_names(entry), *_letters(entry), *_pattern(entry), *_breadth(entry), *_blocked(entry)]
        if _is_over(entry, now):
            findings.append(_finding("warning", entry, "it has expired and has no effect"))
    return findings + list(_overlaps([e for e in entries if not _is_over(e, now)]))


class RuleMeaning(msgspec.Struct, frozen=True, kw_only=True):
    """How one rule is read."""

    effect: Effect
    rule: str
    means: str
    origin: Origin


def explain_rules(policies: Sequence[Policy]) -> list[RuleMeaning]:
    """Say of every rule how it is read; those that cannot be read at all are findings of `lint`."""
    found = []
    for policy in policies:
        for effect, name, rules in _lists(policy):
            with contextlib.suppress(RuleError):
                entry = _entry(0, policy, effect, name, rules)
                means = " and ".join(phrase(matcher, effect) for matcher in entry.matchers)
                found.append(
                    RuleMeaning(effect=effect, rule=f"{name}: {entry.text}", means=means, origin=entry.rule.origin)
                )
    return found


def _lists(policy: Policy) -> Iterator[tuple[Effect, str, tuple[Rule, ...]]]:
    """Yield everything a policy lists, as rules: one each, or two for a glob about reads and writes."""
    yield from (("deny", "deny", (r,)) for r in policy.deny)
    yield from (("ask", "ask", (r,)) for r in policy.ask)
    yield from (("allow", "allow", (r,)) for r in policy.allow)
    table: tuple[tuple[Effect, str, tuple[str, ...], tuple[str, ...]], ...] = (
        ("deny", "forbidden", ("Read", "Write"), policy.forbidden),
        ("deny", "read.deny", ("Read",), policy.read.deny),
        ("allow", "read.allow", ("Read",), policy.read.allow),
        ("deny", "write.deny", ("Write",), policy.write.deny),
        ("allow", "write.allow", ("Write",), policy.write.allow),
        ("deny", "deny_commands", ("Bash",), policy.deny_commands),
        ("ask", "approve_commands", ("Bash",), policy.approve_commands),
    )
    origin = Origin(policy.layer, policy.file)
    for effect, name, tools, patterns in table:
        for pattern in patterns:
            yield effect, name, tuple(Rule(tool=tool, pattern=pattern, origin=origin) for tool in tools)


def _entry(index: int, policy: Policy, effect: Effect, name: str, rules: tuple[Rule, ...]) -> ListedRule:
    return ListedRule(
        index=index,
        effect=effect,
        name=name,
        layer=policy.layer,
        counts=effect != "allow" or policy.loosens,
        matchers=tuple(map(compile_rule, rules)),
    )


def _written(name: str, rule: Rule) -> str:
    """Return a rule as it is written in a list: whole in a list of rules, else its pattern alone."""
    return rule.text if name in ("deny", "ask", "allow") else rule.pattern or ""


def _is_over(entry: ListedRule, now: float | None) -> bool:
    return now is not None and entry.rule.expires is not None and entry.rule.expires <= now


def _finding(severity: Severity, entry: ListedRule, message: str, suggestion: str = "") -> LintFinding:
    return LintFinding(severity, message, f"{entry.name}: {entry.text}", entry.rule.origin, suggestion)


def _policy(policy: Policy) -> Iterator[LintFinding]:
    origin = Origin(policy.layer, policy.file)
    if policy.layer < Layer.USER:
        if policy.mode is Mode.BYPASS:
            yield LintFinding(
                "warning", f"a {policy.layer} cannot loosen: its mode {policy.mode} is ignored", "", origin
            )
        if policy.classifier is False:
            yield LintFinding("warning", f"a {policy.layer} cannot switch the classifier off: ignored", "", origin)
    elif policy.mode is Mode.BYPASS:
        yield LintFinding(
            "warning",
            "nothing is asked in this mode: only denies, firm asks and protections hold",
            "",
            origin,
        )


def _names(entry: ListedRule) -> Iterator[LintFinding]:
    tool = entry.rule.tool
    if "*" in tool and entry.effect == "allow" and not re.match(r"mcp__[^*]+__", tool):
        yield _finding("error", entry, "an allow needs a tool's full name", "name the server: mcp__server__*")
    if re.fullmatch(r"mcp__[A-Za-z0-9-]+", tool):
        yield _finding("warning", entry, "it matches no tool", f"did you mean {tool}__*?")
    elif find_tool(tool).shape == "unknown" and find_tool(tool).name == tool:
        close = difflib.get_close_matches(tool, _KNOWN_TOOLS, n=1, cutoff=0.75)
        if close and close[0] != tool:
            yield _finding("warning", entry, "no agent is known to have this tool", f"did you mean {close[0]}?")


def _letters(entry: ListedRule) -> Iterator[LintFinding]:
    text = " ".join((entry.text, *entry.rule.exceptions))
    hidden = sorted({f"U+{ord(c):04X}" for c in text if is_hidden(c)})
    if hidden:
        yield _finding("error", entry, f"it holds invisible characters ({', '.join(hidden)})", "type it anew")
    for word in re.findall(r"\w+", text):
        scripts = {unicodedata.name(c, "?").split()[0] for c in word if c.isalpha()} - {
            "FEMININE",
            "MASCULINE",
        }
        if len(scripts) > 1:
            shown = word.encode("ascii", "backslashreplace").decode()
            yield _finding(
                "warning",
                entry,
                f"`{shown}` mixes letters of {' and '.join(sorted(scripts))}",
                "type it anew",
            )


def _pattern(entry: ListedRule) -> Iterator[LintFinding]:
    rule, pattern = entry.rule, entry.rule.pattern or ""
    if entry.matcher.command is not None:
        yield from _command(entry, pattern)
    glob = entry.matcher.glob
    if glob is not None and glob.form == "exact" and pattern.endswith("/") and entry.effect == "allow":
        yield _finding("warning", entry, "it names a folder and matches no file in it", f"did you mean {pattern}**?")
    if glob is not None and (found := re.match(r"~[^/]+|\$[^/]*", pattern)):
        yield _finding("warning", entry, f"`{found[0]}` is the name of a file here, and nobody's home", "write it out")
    if find_tool(rule.tool).name == "WebFetch" and pattern and entry.matcher.host is None:
        yield _finding("hint", entry, "it is compared with the whole address", "write domain:example.com for a host")


def _command(entry: ListedRule, pattern: str) -> Iterator[LintFinding]:
    bare = unquoted(pattern)
    for oddity, severity, message, suggestion in _ODDITIES:
        if oddity.search(bare):
            yield _finding(severity, entry, message, suggestion)
    if re.search(r"\w\*$", pattern):
        yield _finding("hint", entry, "it matches longer program or word names too", f"did you mean {pattern[:-1]}:*?")


def _breadth(entry: ListedRule) -> Iterator[LintFinding]:
    if entry.effect != "allow":
        return
    matcher = entry.matcher
    if matcher.family == "command":
        program = matcher.command.program if matcher.command else None
        if program is None and (matcher.command is None or matcher.command.expression is None):
            yield _finding("warning", entry, "it allows every command that is not destructive", "name the programs")
        elif program in RUNS_ANYTHING and matcher.command is not None and matcher.command.open_ended:
            yield _finding("warning", entry, f"`{program}` can run anything", "allow the very command you mean")
    elif matcher.family in ("write", "edit", "read"):
        wide = matcher.glob is None or (
            matcher.glob.base == "/" and matcher.glob.form == "below" and matcher.glob.anchor != "cwd"
        )
        if wide and matcher.family != "read":
            yield _finding("warning", entry, "it allows writing anywhere", "name a folder, such as src/**")
    elif matcher.host is not None and matcher.host.expression is not None and not matcher.host.host:
        yield _finding("warning", entry, "it allows every host", "name the domains")


def _blocked(entry: ListedRule) -> Iterator[LintFinding]:
    """Find an allow of one very command that no allow covers, unless it says that it does."""
    command = entry.matcher.command
    exact = command is not None and command.expression is None and not command.open_ended
    if entry.effect != "allow" or entry.rule.destructive or command is None or not exact:
        return
    call = ToolCall(tool=entry.rule.tool, input={"command": shlex.join(command.words)}, cwd=_FOLDER)
    reading = read(call, place_of(call, Session(workspace=(_FOLDER,)), Facts()))
    if any(o.argv == command.words and o.tier is Tier.DESTRUCTIVE for o in reading.operations):
        yield _finding(
            "warning",
            entry,
            "it never takes effect: what it names cannot be undone",
            "say `destructive: true` if that is meant",
        )


def _overlaps(entries: Sequence[ListedRule]) -> Iterator[LintFinding]:
    """Find rules that another one makes pointless."""
    shelves: dict[tuple[str, str], list[ListedRule]] = defaultdict(list)
    for entry in entries:
        for matcher in entry.matchers if entry.counts else ():
            shelves[_shelf(matcher)].append(entry)
    for entry in entries:
        rivals = (r for key in _near(entry.matcher) for r in shelves.get(key, ()) if r is not entry)
        yield from _overlap(entry, rivals)


def _shelf(matcher: Matcher) -> tuple[str, str]:
    kind = "write" if matcher.family == "edit" else matcher.family
    if matcher.command is not None and matcher.command.program:
        return kind, matcher.command.program
    if matcher.glob is not None:
        return kind, matcher.glob.base
    if matcher.host is not None:
        return kind, matcher.host.host
    return kind, "" if matcher.family != "name" or "*" in matcher.tool else matcher.tool


def _near(matcher: Matcher) -> Iterator[tuple[str, str]]:
    """Yield the shelves on which a rule that contains this one may stand."""
    kind, place = _shelf(matcher)
    yield kind, place
    if kind in ("write", "read"):
        while place not in ("", "/"):
            place = place.rpartition("/")[0] or "/"
            yield kind, place
    if kind == "host":
        while "." in place:
            place = place.partition(".")[2]
            yield kind, place
        yield "name", matcher.tool
    yield kind, ""
    if kind != "name":
        yield "name", ""


def _overlap(entry: ListedRule, rivals: Iterable[ListedRule]) -> Iterator[LintFinding]:
    wider = [r for r in rivals if _outlasts(r, entry) and _swallows(r, entry)]
    for rival in sorted(wider, key=lambda r: _STRICTEST_FIRST.index(r.effect)):
        shown = rival.text if rival.name == rival.effect else f"{rival.name}: {rival.text}"
        where = f"{shown} ({rival.rule.origin})"
        if rival.effect == "deny" and entry.effect != "deny":
            yield _finding("warning", entry, f"it never takes effect: {where} denies all of it", _way_out(rival))
            return
        if rival.effect == "ask" and entry.effect == "allow":
            yield _finding("hint", entry, f"it is asked about all the same: {where}")
            return
        if _replaces(rival, entry) and (rival.index < entry.index or not _replaces(entry, rival)):
            yield _finding("hint", entry, f"it adds nothing to {where}")
            return


def _way_out(deny: ListedRule) -> str:
    if deny.name == "deny":
        return "narrow the deny with `except`"
    return f"narrow it in {deny.name}, or write it as a deny rule with `except`"


def _swallows(wide: ListedRule, narrow: ListedRule) -> bool:
    """Tell whether all that one is about the other is about as well."""
    broad, narrow_broad = wide.effect != "allow", narrow.effect != "allow"
    return all(
        any(contains(w, n, broad=broad, narrow_broad=narrow_broad) for w in wide.matchers) for n in narrow.matchers
    )


def _replaces(one: ListedRule, other: ListedRule) -> bool:
    """Tell whether nothing changes without the other."""
    if one.effect != other.effect or not (_outlasts(one, other) and _swallows(one, other)):
        return False
    return (one.rule.destructive or not other.rule.destructive) and (one.firm or not other.firm)


def _outlasts(one: ListedRule, other: ListedRule) -> bool:
    ours, theirs = one.rule.expires, other.rule.expires
    return ours is None or (theirs is not None and ours >= theirs)
