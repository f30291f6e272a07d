"""The environment that a call would run in: which of its variables can make the call's commands run other code.

A variable that an inline `VAR=… command` may not give is judged by its value and for each program: the user's own
settings and paths outside of the project change nothing, nor does a variable that the program does not look at.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import msgspec

import assent.lazy_regex as re
from assent.catalog import is_builtin
from assent.catalog.inherited_environment import expression_of, is_early, is_obeyed, kind_of, matters
from assent.model import COMMAND_EXECUTE, DANGEROUS, UNKNOWN, CallError, Environment, Operation, fold, within

if TYPE_CHECKING:
    from assent.analysis.resources.paths import Place

_FUNCTION = re.compile(r"BASH_FUNC_(.*?)(?:%%|\(\))?", re.DOTALL)
_CALLED = frozenset({"command_not_found_handle", "command_not_found_handler"})
"""Functions that the shell calls by itself."""
_SHARED = ("/tmp", "/var/tmp", "/dev/shm", "/private/tmp", "/private/var/tmp")  # noqa: S108 - named, not used
"""Where everybody may write."""
_SYSTEM = frozenset(("/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin"))
_URL = re.compile(r"(?<![A-Za-z0-9+.-])(?!file:)[A-Za-z][A-Za-z0-9+.-]*+://[^\s'\"]*+")
_ABSOLUTE = re.compile(r"(?<![\w.%+~@!-])~?/[^\s:;,'\"|&<>$`()*?\\]*+")
_LEADING = re.compile(r"[/$`|;&<>(){}\\\n!]|(?:^|[\s:;,='\"])\.")
"""What a value that only tells something does not hold: the rest of a relative path, or of a shell line."""
_LONGEST_SHOWN = 200


class Threat(msgspec.Struct, frozen=True):
    """A variable that can make some programs run other code."""

    name: str
    value: str
    why: str
    early: bool
    function: str = ""
    """The one command that it replaces, where it does no more."""

    def reaches(self, program: str) -> bool:
        """Tell whether a program may obey it."""
        if self.function:
            return self.early or program == self.function
        return self.early or is_obeyed(self.name, program)

    @property
    def operation(self) -> Operation:
        """Return the setting of the variable, which no allow on a command speaks for."""
        shown = self.value if len(self.value) <= _LONGEST_SHOWN else self.value[:_LONGEST_SHOWN] + UNKNOWN
        return Operation(
            kind=COMMAND_EXECUTE,
            resource=f"{self.name}={shown}",
            argv=(f"{self.name}={shown}",),
            tier=DANGEROUS,
            reason=f"`{self.name}` in the agent's environment {self.why}",
            variable=self.name,
            early=self.early,
        )


class InheritedEnvironment(msgspec.Struct, frozen=True):
    """What is known of the environment at a place."""

    digest: str = ""
    threats: tuple[Threat, ...] = ()


UNTOLD = InheritedEnvironment()
"""Nobody said what is in it."""


def select(variables: dict[str, str | None]) -> Environment:
    """Keep of an environment what has to be judged where it is, and where programs are looked for."""
    found = sorted((n, v) for n, v in variables.items() if n == "PATH" or matters(n, v))
    return Environment(tuple(found))


def judge_environment(environment: Environment, place: Place) -> InheritedEnvironment:
    """Find the variables that can change what commands do at a place."""
    found = [_judge(name, value, place) for name, value in environment.variables if name != "PATH"]
    threats = tuple(threat for threat in (*found, _judge_path(environment, place)) if threat is not None)
    return InheritedEnvironment(environment.digest if threats else "", threats)


def _judge(name: str, value: str | None, place: Place) -> Threat | None:
    why = _reason(name, value, place)
    if why is None:
        return None
    function = _FUNCTION.fullmatch(name)
    if function is None:
        return Threat(name, UNKNOWN if value is None else value, why, is_early(name))
    early = is_builtin(function[1]) or function[1] in _CALLED
    return Threat(name, value or UNKNOWN, f"replaces the command `{function[1]}`", early, function[1])


def _reason(name: str, value: str | None, place: Place) -> str | None:
    """Say why a value is not the user's own."""
    if value is None:
        return "can change what programs do, and Assent does not know its value"
    if name == "HOME":
        return _is_other_home(value, place)
    known, kind = expression_of(name), kind_of(name)
    if value == "":
        return None
    told = _with_own_paths(value, place) if known is not None or kind == "plain" else value
    if known is not None and known.fullmatch(told):
        return None
    if kind == "paths":
        return next((why for part in value.split(":") if (why := _misled(part, place))), None)
    if kind == "plain" and not _LEADING.search(told):
        return None
    return "can make programs run other code"


def _is_other_home(value: str, place: Place) -> str | None:
    home = place.facts.home
    if home is None:  # any folder may be the agent's own there, but none of the project
        return None if value[:1] == "/" and not _is_project(value, place) else "leads into the project"
    if value in (home, place.facts.resolve(home)) or (value[:1] == "/" and home in place.locate(value).names):
        return None
    return f"names a home directory that is not yours (`{home}`), with other settings"


def _misled(part: str, place: Place) -> str | None:
    """Say where a path leads that is not the user's own."""
    if part == "":
        return "has an empty part, which means the working directory"
    if not part.startswith("/"):
        return f"contains `{part}`, relative to the working directory"
    return None if _is_own(part, place) else f"contains `{part}`, which the project or anybody can write"


def _with_own_paths(value: str, place: Place) -> str:
    """Write a value with `@name` for each path of the user's own, and `!` for any other."""
    text = value.replace("@", "\x1a")
    if "/" not in text:
        return text
    text = _URL.sub("", text) if "://" in text else text
    return _ABSOLUTE.sub(lambda found: f"@{found[0].rpartition('/')[2]}" if _is_own(found[0], place) else "!", text)


def _is_own(path: str, place: Place) -> bool:
    """Tell whether a path leads, by each of its names, to where neither the project nor everybody may write."""
    home = place.facts.home
    if path.startswith("~"):
        if home is None:
            return False
        path = home + path[1:]
    try:
        located = place.locate(path)
    except CallError:
        return False
    return located.known and all(_is_outside(name, place) for name in located.names)


def _is_outside(name: str, place: Place) -> bool:
    home = place.facts.home
    if _is_project(name, place):
        return False
    return (home is not None and within(name, home)) or not is_shared(name)


def _is_project(name: str, place: Place) -> bool:
    """Tell whether a path lies in the workspace, or where there is none in the folder of the call."""
    here = (place.cwd,) if place.cwd and place.cwd != place.facts.home else ()
    low = fold(name)
    return any(within(low, fold(root)) for root in place.workspace or here)


@functools.lru_cache(maxsize=1024)
def is_shared(path: str) -> bool:
    """Tell whether a path lies where everybody may write."""
    return any(within(path, folder) for folder in _SHARED)


def _judge_path(environment: Environment, place: Place) -> Threat | None:
    """Find a folder of the search path before the system's, where the disk cannot be asked what is in it."""
    if place.facts.disk == "known":
        return None
    for part in environment.path:
        if part in _SYSTEM:
            return None
        if not part.startswith("/") or _is_project(part, place):
            why = f"finds programs of the project (`{part}`) before the system's"
            return Threat("PATH", ":".join(environment.path), why, early=False)
    return None
