"""Entry point: dispatch to the command, and turn every failure into a message and a non-zero exit code."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import importlib
import os
import sys
from typing import TYPE_CHECKING, TextIO

from assent.cli import exit_codes
from assent.cli.output.screen import complain, say
from assent.cli.startup import keep_garbage, leave, load_loop
from assent.model import AssentError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

COMMANDS = {
    "check": "decide a call without running it",
    "explain": "show how Assent decides a call",
    "run": "run a command inside the sandbox",
    "runs": "start, list and stop runs of strategies",
    "policy": "show, lint and test the policy in force",
    "schema": "print the JSON Schemas of the records",
    "trust": "trust a project's allow rules",
    "serve": "run the daemon: questions, answers, audit log, dashboard",
    "pending": "list the pending questions",
    "approve": "approve a pending call",
    "deny": "deny a pending call",
    "token": "create, list and revoke tokens",
    "init": "connect an agent: its hook asks before every call",
    "uninit": "disconnect an agent",
    "launch": "start an agent without variables set by a project",
    "hook": "decide one call for an agent's hook",
    "hook-script": "print the hook for containers",
    "doctor": "check installation, sandbox, daemon and agents",
    "audit": "search, verify and export the audit log",
    "mcp": "guard an MCP server",
    "demo": "show a dozen example decisions",
}


_UNWRITTEN = (errno.EBADF, errno.ENOSPC, errno.EDQUOT, errno.EIO)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Without `argv` this may end the process."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    once = argv is None and arguments[:1] in (["check"], ["run"]) and "--batch" not in arguments
    return guard(lambda: _run(arguments), once=once, loops=once and arguments[0] == "run")


def guard(command: Callable[[], int], *, once: bool, loops: bool) -> int:
    """Run a command and return its exit code, whatever fails; with `once`, end the process."""
    try:
        _prepare_streams()
        if once:
            keep_garbage()
        if loops:
            load_loop()
        code = command()
        sys.stdout.flush()
        if once:
            leave(code)
    except KeyboardInterrupt:
        return exit_codes.INTERRUPTED
    except BrokenPipeError:
        _leave_pipe()
        return exit_codes.PIPE_CLOSED
    except ConfigError as error:
        place = f"{error.file}:{error.line}" if error.line else error.file
        complain(f"{place}: {error.message}" if place else error.message, error.suggestion)
        return exit_codes.USAGE
    except AssentError as error:
        complain(str(error))
        return exit_codes.USAGE
    except Exception as error:  # noqa: BLE001 - an error must not look like an allow
        return _report_fault(error)
    return code


def _run(arguments: list[str]) -> int:
    name = arguments[0] if arguments else ""
    if name in COMMANDS:
        _refuse_bytes(arguments)
        try:
            command: Callable[[list[str]], int] = importlib.import_module(
                f"assent.cli.commands.{name.replace('-', '_')}"
            ).run
            return command(arguments[1:])
        except SystemExit as end:  # the parser exits after `--help`
            return int(end.code or 0)
        except ModuleNotFoundError as error:
            from assent.config.extras import explain_missing  # noqa: PLC0415 - only an incomplete installation needs it

            raise explain_missing(error, f"assent {name}") from error
    if name in ("--version", "-V"):
        from assent import __version__  # noqa: PLC0415 - slow

        say(f"assent {__version__}")
        return exit_codes.OK
    if name in ("--help", "-h", "help"):
        say(_help())
        return exit_codes.OK
    return _refuse(name)


def _refuse(name: str) -> int:
    if not name:
        sys.stderr.write(_help() + "\n")
        return exit_codes.USAGE
    from difflib import get_close_matches  # noqa: PLC0415 - only for a mistyped command

    kind = "option" if name.startswith("-") else "command"
    close = get_close_matches(name, (*COMMANDS, "--version", "--help"), n=1)
    complain(f"unknown {kind} `{name}`", f"did you mean `{close[0]}`?" if close else "see `assent --help`")
    return exit_codes.USAGE


def _refuse_bytes(arguments: list[str]) -> None:
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise AssentError("an argument is not valid UTF-8") from None


def _help() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {does}" for name, does in COMMANDS.items()]
    return "\n".join(
        (
            "usage: assent COMMAND …",
            "",
            "Permission for AI agents: decide every tool call, and show why.",
            "",
            *lines,
            "",
            "  assent check 'git push --force'      decide a shell command",
            "  assent explain 'curl x.sh | sh'      see what it would do, and why",
            "  assent COMMAND --help                more about one command",
            "  assent --version",
        )
    )


def _prepare_streams() -> None:
    """Make sure that stdout and stderr exist and that no character can fail to encode."""
    # With stdout closed, printing must fail; with stderr closed, messages are dropped.
    sys.stdout = sys.stdout or _replacement(os.O_RDONLY)
    sys.stderr = sys.stderr or _replacement(os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _replacement(flags: int) -> TextIO:
    """Open a replacement for a closed stream; its descriptor stays closed, since child processes may check it."""
    low = os.open(os.devnull, flags)
    try:
        return os.fdopen(fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, 3), "w")
    finally:
        os.close(low)


def _leave_pipe() -> None:
    """Keep the interpreter from reporting the closed pipe again when it exits."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report_fault(error: Exception) -> int:
    if isinstance(error, OSError):
        _leave_pipe()
    with contextlib.suppress(Exception):
        if isinstance(error, OSError) and error.errno in _UNWRITTEN and error.filename is None:
            complain(f"writing failed: {error.strerror}")
            return exit_codes.DENY
        complain(f"internal error: {type(error).__name__}: {error}")
        if os.environ.get("ASSENT_DEBUG") == "1":
            import traceback  # noqa: PLC0415 - only a developer asks for it

            traceback.print_exception(error)
    return exit_codes.DENY
