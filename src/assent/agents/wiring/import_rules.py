"""Import the permission rules of agents as rules of Assent.

An allow is imported only if it means the same or less in Assent; a deny or ask if it means the same or more.
"""

from __future__ import annotations

import ast
import fnmatch
import itertools
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from assent.analysis.tools.names import find_tool
from assent.model import YES, Effect, RuleError
from assent.policy.rules.match import Matcher, compile_rule
from assent.policy.rules.parse import parse_rule

_MOST_ALTERNATIVES = 32
_PLAIN_TOKEN = re.compile(r"[A-Za-z0-9_./:@%+,=-]+")
_PARAMETER = re.compile(r"[a-z_]+:[^*]+")
_FILE_TOOLS = ("Read", "Edit")
_IGNORED_BY_CLAUDE = ("Write", "NotebookEdit", "MultiEdit", "Glob")
_NOBODY = "assent-nobody"
"""A name that no rule mentions: a rule that matches it matches everything."""
_FOREIGN = ("Agent", "Task", "Cd", "PowerShell", "Skill")
_DECISIONS: dict[str, Effect] = {
    "allow": "allow",
    "prompt": "ask",
    "forbidden": "deny",
    "ask_user": "ask",
    "deny": "deny",
}
_SHELLS = ("run_shell_command", "ShellTool")


class Taken(msgspec.Struct, frozen=True):
    """An imported rule."""

    effect: Effect
    rule: str
    source: str
    """The rule in the agent's syntax."""


class RefusedRule(msgspec.Struct, frozen=True):
    """A rule that is not imported, and why."""

    effect: str
    source: str
    why: str


def from_claude(settings: Any, folder: str) -> list[Taken | RefusedRule]:
    """Import `permissions` of a Claude Code settings file; paths with one leading slash are relative to the folder."""
    permissions = settings.get("permissions") if isinstance(settings, dict) else None
    found: list[Taken | RefusedRule] = []
    for effect in ("allow", "ask", "deny"):
        rules = permissions.get(effect) if isinstance(permissions, dict) else None
        for source in rules if isinstance(rules, list) else ():
            found += _from_claude(effect, source, folder) if isinstance(source, str) else ()
    return found


def _from_claude(effect: Effect, source: str, folder: str) -> list[Taken | RefusedRule]:
    tool, opening, rest = source.strip().partition("(")
    inner = rest.removesuffix(")")
    if tool in _FOREIGN:
        return [RefusedRule(effect, source, f"Assent has no rules for {tool}")]
    if tool in _IGNORED_BY_CLAUDE and opening:
        return [RefusedRule(effect, source, "Claude Code ignores it too; it uses Edit and Read rules")]
    if tool in _FILE_TOOLS and opening:
        return _files(effect, source, tool, inner, folder)
    if tool == "Bash" and _PARAMETER.fullmatch(inner) and not inner.endswith(":"):
        return [RefusedRule(effect, source, "the rule is about a parameter, not a command")]
    if re.fullmatch(r"mcp__[^_](?:(?!__).)*", tool):
        return [_take(effect, f"{tool}__*", source)]
    return [_take(effect, "Bash" if source == "Bash(*)" else source.strip(), source)]


def _files(effect: Effect, source: str, tool: str, inner: str, folder: str) -> list[Taken | RefusedRule]:
    path = inner[1:] if inner.startswith("//") else f"{folder}{inner}" if inner.startswith("/") else inner
    path = path.removeprefix("./")
    paths = [path]
    if effect != "allow":
        path = path.rstrip("/")
        paths = [path, f"**/{path}"] if "/" not in path else [path]  # a bare name matches at any depth,
        paths += [] if path.endswith("*") else [f"{paths[-1]}/**"]  # and a folder everything in it
    tools = ("Edit", "Write") if tool == "Edit" else (tool,)
    return [_take(effect, f"{each}({where})", source) for each in tools for where in paths]


def _take(effect: Effect, rule: str, source: str) -> Taken | RefusedRule:
    try:
        matcher = compile_rule(parse_rule(rule))
    except (RuleError, ValueError) as error:
        return RefusedRule(effect, source, str(error))
    if effect == "allow" and _is_boundless(matcher):
        return RefusedRule(effect, source, "the rule would allow every such call")
    return Taken(effect, rule, source)


def _is_boundless(matcher: Matcher) -> bool:
    """Return whether a rule covers everything a tool can do, however it is written; reading files does not count."""
    if matcher.command is not None:
        lines = ((_NOBODY,), (_NOBODY, _NOBODY), (_NOBODY, _NOBODY, _NOBODY))
        return any(matcher.command.match(line, broad=False) is YES for line in lines)
    if matcher.glob is not None:
        return matcher.glob.matches(f"/{_NOBODY}/{_NOBODY}/{_NOBODY}") and matcher.family != "read"
    if matcher.host is not None:
        return matcher.host.match(f"{_NOBODY}.{_NOBODY}") is YES
    if matcher.rule.pattern is not None:
        return False
    names = (_NOBODY, f"mcp__{_NOBODY}__{_NOBODY}", f"mcp_{_NOBODY}_{_NOBODY}")
    return find_tool(matcher.tool).shape in ("command", "write", "fetch", "foreign-shell") or any(
        fnmatch.fnmatchcase(name, matcher.tool) for name in names
    )


def from_codex(text: str) -> list[Taken | RefusedRule]:
    """Import the prefix rules of a Codex `.rules` file."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [RefusedRule("", text[:80], "cannot parse the file")]
    found: list[Taken | RefusedRule] = []
    for statement in body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        source = ast.unparse(statement)[:200]
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            found.append(RefusedRule("", source, "not a rule"))
        elif call.func.id != "prefix_rule":
            found.append(RefusedRule("", source, f"Assent has no equivalent of {call.func.id}"))
        else:
            found += _prefix_rule(call, source)
    return found


def _prefix_rule(call: ast.Call, source: str) -> list[Taken | RefusedRule]:
    try:
        given = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
        if call.args:
            given["pattern"] = ast.literal_eval(call.args[0])
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return [RefusedRule("", source, "not a literal rule")]
    effect = _DECISIONS.get(str(given.get("decision", "allow")))
    if effect is None:
        return [RefusedRule("", source, "unknown decision")]
    pattern = given.get("pattern")
    tokens = [token if isinstance(token, list) else [token] for token in pattern] if isinstance(pattern, list) else []
    lines = list(itertools.islice(itertools.product(*tokens), _MOST_ALTERNATIVES + 1))
    if not tokens or len(lines) > _MOST_ALTERNATIVES:
        return [RefusedRule(effect, source, "the rule names no command, or too many")]
    if not all(isinstance(word, str) and _PLAIN_TOKEN.fullmatch(word) for line in lines for word in line):
        return [RefusedRule(effect, source, "a word would have another meaning in a rule of Assent")]
    return [_take(effect, f"Bash({' '.join(line)}:*)", source) for line in lines]


def from_gemini(settings: Any) -> list[Taken | RefusedRule]:
    """Import the allowed and excluded tools of a Gemini CLI settings file."""
    tools = settings.get("tools") if isinstance(settings, dict) else None
    lists: tuple[tuple[Effect, str], ...] = (("allow", "allowed"), ("deny", "exclude"))
    found: list[Taken | RefusedRule] = []
    for effect, name in lists:
        given = tools.get(name) if isinstance(tools, dict) else None
        texts = [source for source in given if isinstance(source, str)] if isinstance(given, list) else []
        found += [_gemini_tool(effect, source) for source in texts]
    return found


def _gemini_tool(effect: Effect, source: str) -> Taken | RefusedRule:
    tool, opening, rest = source.partition("(")
    if tool not in _SHELLS:
        return (
            RefusedRule(effect, source, "only rules about shell commands are imported")
            if opening
            else _take(effect, tool, source)
        )
    prefix = rest.removesuffix(")").strip()
    return _prefix(effect, prefix, source) if prefix else _take(effect, "Bash", source)


def _prefix(effect: Effect, prefix: str, source: str) -> Taken | RefusedRule:
    """Import a literal prefix."""
    if effect == "allow" and not all(_PLAIN_TOKEN.fullmatch(word) for word in prefix.split(" ")):
        return RefusedRule(effect, source, "a word would have another meaning in a rule of Assent")
    return _take(effect, f"Bash({prefix}:*)", source)


def from_gemini_policy(data: Any) -> list[Taken | RefusedRule]:
    """Import the rules of a Gemini CLI policy file."""
    rules = data.get("rule") if isinstance(data, dict) else None
    given = rules if isinstance(rules, list) else []
    return [taken for rule in given if isinstance(rule, dict) for taken in _gemini_rule(rule)]


def _gemini_rule(rule: dict[str, Any]) -> Iterator[Taken | RefusedRule]:
    effect = _DECISIONS.get(str(rule.get("decision")))
    source = ", ".join(f"{key} = {value!r}" for key, value in rule.items())[:200]
    more = rule.keys() - {"toolName", "commandPrefix", "decision", "priority", "denyMessage", "name"}
    if effect is None or more:
        yield RefusedRule(
            effect or "", source, f"Assent has no equivalent of {', '.join(sorted(more)) or 'its decision'}"
        )
        return
    prefixes = rule.get("commandPrefix")
    names = rule.get("toolName", "*" if prefixes is None else _SHELLS[0])
    for name in names if isinstance(names, list) else [names]:
        if name == _SHELLS[0] and prefixes is not None:
            for prefix in prefixes if isinstance(prefixes, list) else [prefixes]:
                yield _prefix(effect, str(prefix), source)
        else:
            yield _take(effect, "Bash" if name in _SHELLS else str(name), source)
