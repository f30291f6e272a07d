"""`assent launch`: start an agent with an environment that no project had a hand in, or not at all."""

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
    "assent launch claude-code                   as `claude`, without what a project could have set",
    "assent launch codex -- exec 'fix the test'  with words of its own",
    "assent launch gemini --contained            the whole agent inside the sandbox",
    "assent launch claude-code --dry-run         only show what would be started, and what is left out",
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
    _tell(given.agent, environ)
    if given.dry_run:
        say(visible(shlex.join(words)))
        return exit_codes.OK
    return _start(words, environ, contained=given.contained)


def _parse(argv: list[str]) -> Any:
    parser = make_parser("launch", "Start an agent with an environment that no project had a hand in.", _EXAMPLES)
    parser.add_argument("agent", metavar="AGENT", choices=NAMES, help=", ".join(NAMES))
    parser.add_argument("--keep", metavar="NAME", action="append", default=[], help="hand this variable on as it is")
    parser.add_argument("--contained", action="store_true", help="inside the sandbox: `assent run --profile agent`")
    parser.add_argument("--dry-run", action="store_true", help="show what would be started, and start nothing")
    parser.add_argument("words", metavar="-- WORD", nargs="*", help="words for the agent")
    end = argv.index("--") if "--" in argv else len(argv)
    given = parser.parse_args(argv[:end])
    if given.words:
        raise AssentError(f"words for the agent stand after `--`: {given.words[0]}")
    given.words = argv[end + 1 :]
    return given


def _emptied(given: Any) -> dict[str, str]:
    """Return variables that are set to nothing: Gemini CLI takes from a file of the project what is not set."""
    if given.agent != "gemini":
        return {}
    return {name: "" for name in emptied_names() if name not in given.keep}


def _override(given: Any) -> tuple[str, ...]:
    """Return the words by which these agents are told the same, whatever a project's settings say later."""
    wiring = WIRINGS.get(given.agent)
    if wiring is None:
        return ()
    if wiring.settings_option and any(word.startswith(wiring.settings_option) for word in given.words):
        raise AssentError(
            f"{wiring.program} takes one {wiring.settings_option}: put what is in yours into your settings"
        )
    return wiring.override_variables(tuple(name for name in emptied_names() if name not in given.keep))


def _find_program(given: Any, environ: Mapping[str, str], root: str) -> str:
    name = WIRINGS[given.agent].program if given.agent in WIRINGS else str(given.agent)
    found = shutil.which(name, path=environ.get("PATH", os.defpath))
    missing = f"there is no `{name}` on the PATH outside of {root}"
    if found is None and not given.dry_run:
        raise AssentError(f"{missing}; `--keep PATH` looks there too")
    if found is None:
        complain(visible(missing), "`--keep PATH` looks there too")
    return found or name


def _tell(agent: str, environ: Mapping[str, str]) -> None:
    """Say what was left out, and whether anybody decides what the agent does."""
    left = [name for name, value in os.environ.items() if environ.get(name) != value]
    if left:
        complain(visible(f"left out: {', '.join(sorted(left))}"), "`--keep NAME` hands one on")
    if not any(wired.agent == agent for wired in read_book(assent_home())):
        complain(f"note: {agent} is not wired up, so nothing it does is decided", f"run `assent init {agent}`")


def _start(words: list[str], environ: dict[str, str], *, contained: bool) -> int:
    if contained:
        from assent.cli.commands.run import run as run_inside  # noqa: PLC0415 - slow to load, and not always wanted

        own = {"ASSENT_HOME": assent_home()}
        os.environ.clear()
        os.environ.update(environ | own)
        return run_inside(["--profile", "agent", "--", *words])
    try:
        os.execve(words[0], words, environ)  # noqa: S606 - it is what was asked for
    except OSError as error:
        raise AssentError(f"{words[0]} can not be started: {error.strerror}") from None
