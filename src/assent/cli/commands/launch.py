"""`assent launch`: start an agent without the environment variables that a project may have set."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH109

from __future__ import annotations

import os
import shlex
import shutil
from typing import TYPE_CHECKING, Any

from assent.agents.specs import WIRINGS
from assent.agents.wiring.project_variables import find_turning, tell_turning
from assent.agents.wiring.settings_changes import read_book
from assent.catalog.environment_variables import emptied_names
from assent.cli import exit_codes
from assent.cli.agent_wiring import NAMES
from assent.cli.options.arguments import make_parser
from assent.cli.output.screen import complain, say, visible
from assent.model import AssentError
from assent.platform.clean_environment import scrub
from assent.platform.paths import assent_home, project_root

if TYPE_CHECKING:
    from collections.abc import Mapping

_EXAMPLES = (
    "assent launch claude-code                   like `claude`, without variables set by a project",
    "assent launch codex -- exec 'fix the test'  with arguments for the agent",
    "assent launch gemini --contained            the whole agent inside the sandbox",
    "assent launch claude-code --dry-run         only show the command and the dropped variables",
)


def run(argv: list[str]) -> int:
    """Run the command."""
    given = _parse(argv)
    folder = os.getcwd()
    found = find_turning(given.agent, folder)
    if found:
        complain(visible(tell_turning(given.agent, found)), "nothing was started")
        return exit_codes.DENY
    root = project_root(folder) or folder
    environ = scrub(os.environ, root, given.keep) | _emptied(given)
    words = [_find_program(given, environ, root), *_override(given), *given.words]
    _print_notes(given.agent, environ)
    if given.dry_run:
        say(visible(shlex.join(words)))
        return exit_codes.OK
    return _start(words, environ, contained=given.contained)


def _parse(argv: list[str]) -> Any:
    parser = make_parser(
        "launch", "Start an agent without environment variables that a project may have set.", _EXAMPLES
    )
    parser.add_argument("agent", metavar="AGENT", choices=NAMES, help=", ".join(NAMES))
    parser.add_argument("--keep", metavar="NAME", action="append", default=[], help="keep this variable")
    parser.add_argument(
        "--contained", action="store_true", help="run it in the sandbox, as with `assent run --profile agent`"
    )
    parser.add_argument("--dry-run", action="store_true", help="show the command without starting it")
    parser.add_argument("words", metavar="-- WORD", nargs="*", help="arguments for the agent")
    end = argv.index("--") if "--" in argv else len(argv)
    given = parser.parse_args(argv[:end])
    if given.words:
        raise AssentError(f"put arguments for the agent after `--`: `{given.words[0]}`")
    given.words = argv[end + 1 :]
    return given


def _emptied(given: Any) -> dict[str, str]:
    """Return variables to set empty: Gemini CLI takes unset variables from a project file."""
    if given.agent != "gemini":
        return {}
    return {name: "" for name in emptied_names() if name not in given.keep}


def _override(given: Any) -> tuple[str, ...]:
    """Return the options that override a project's settings with the same variables."""
    wiring = WIRINGS.get(given.agent)
    if wiring is None:
        return ()
    if wiring.settings_option and any(word.startswith(wiring.settings_option) for word in given.words):
        raise AssentError(
            f"{wiring.program} accepts {wiring.settings_option} only once; move its content to your settings"
        )
    return wiring.override_variables(tuple(name for name in emptied_names() if name not in given.keep))


def _find_program(given: Any, environ: Mapping[str, str], root: str) -> str:
    name = WIRINGS[given.agent].program if given.agent in WIRINGS else str(given.agent)
    found = shutil.which(name, path=environ.get("PATH", os.defpath))
    missing = f"`{name}` not found on the PATH outside of {root}"
    if found is None and not given.dry_run:
        raise AssentError(f"{missing}; `--keep PATH` searches the project too")
    if found is None:
        complain(visible(missing), "`--keep PATH` searches the project too")
    return found or name


def _print_notes(agent: str, environ: Mapping[str, str]) -> None:
    """Print the dropped variables, and warn if the agent is not connected."""
    left = [name for name, value in os.environ.items() if environ.get(name) != value]
    if left:
        complain(visible(f"dropped variables: {', '.join(sorted(left))}"), "`--keep NAME` keeps one")
    if not any(wired.agent == agent for wired in read_book(assent_home())):
        complain(f"note: {agent} is not connected, so Assent decides none of its calls", f"run `assent init {agent}`")


def _start(words: list[str], environ: dict[str, str], *, contained: bool) -> int:
    if contained:
        from assent.cli.commands.run import run as run_inside  # noqa: PLC0415 - slow to load

        own = {"ASSENT_HOME": assent_home()}
        os.environ.clear()
        os.environ.update(environ | own)
        return run_inside(["--profile", "agent", "--", *words])
    try:
        os.execve(words[0], words, environ)  # noqa: S606 - the requested agent
    except OSError as error:
        raise AssentError(f"cannot start `{words[0]}`: {error.strerror}") from None
