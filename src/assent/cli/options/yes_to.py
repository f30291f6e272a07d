"""`--yes-to TOOL[:PATTERN]`: answers given before a run starts, for every matching question."""

from __future__ import annotations

import msgspec

from assent.analysis.evaluate.script import parse
from assent.analysis.ir import Command
from assent.analysis.resources.globs import compile_glob, escape_glob
from assent.model import YES, AssentError
from assent.policy.rules.parse import check_pattern
from assent.policy.rules.patterns import compile_command
from assent.runs.protocol.messages import RequestPermission
from assent.runs.tools.inputs import TOOLS, guarded_name


class YesTo(msgspec.Struct, frozen=True):
    """A tool, optionally limited to paths or commands."""

    tool: str
    pattern: str | None = None
    cwd: str = "/"

    @classmethod
    def read(cls, text: str, cwd: str) -> YesTo:
        """Read `TOOL` or `TOOL:PATTERN`, or raise `AssentError`."""
        tool, _, pattern = text.partition(":")
        name = guarded_name(tool)
        if name not in TOOLS:
            raise AssentError(f"unknown tool `{tool}`; known: {', '.join(TOOLS)}")
        if pattern:
            check_pattern(pattern)
            (compile_command if name == "run_command" else compile_glob)(pattern)
        return cls(name, pattern or None, cwd)

    def covers(self, question: RequestPermission) -> bool:
        """Return whether this answers a question. It never overrides an earlier denial."""
        if self.tool != guarded_name(question.tool_name) or question.reason != "policy-ask":
            return False
        if self.pattern is None:
            return True
        if self.tool == "run_command":
            return _fits(self.pattern, str(question.details.get("command", "")))
        pattern = self.pattern if self.pattern.startswith("/") else f"{escape_glob(self.cwd)}/{self.pattern}"
        return compile_glob(pattern).matches(question.resource)


def _fits(pattern: str, line: str) -> bool:
    """Return whether every command of a line matches the pattern and the line does nothing else."""
    script, wanted = parse(line), compile_command(pattern)
    return (
        script.unreadable is None
        and bool(script.commands)
        and all(
            _is_plain(c) and wanted.match(tuple(w.text for w in c.words), broad=False, fold=False) is YES
            for c in script.commands
        )
    )


def _is_plain(command: Command) -> bool:
    """Return whether a command is known words only: no redirections, assignments or substitutions."""
    return bool(command.words) and not command.assignments and not command.redirects and _are_known(command)


def _are_known(command: Command) -> bool:
    return all(word.known and not word.feeds for word in command.words)
