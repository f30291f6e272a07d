"""Find environment variables in a project's files that hijack an agent's programs or divert its traffic.

The agent passes them to its hooks too, before a hook can decide, so they must be found in the files.
"""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH118

from __future__ import annotations

import functools
import json
import os
import re
import tomllib
from typing import TYPE_CHECKING, Any

import msgspec

from assent.catalog.environment_variables import diverts, turns_programs
from assent.model import ConfigError, within
from assent.platform import jsonc
from assent.platform.files import find_file
from assent.platform.paths import ancestors, project_root, user_home

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

LARGEST = 256 << 10
"""The largest file that is searched; a larger one is an error."""
_DOTENV = re.compile(r"\s*(?:export\s+)?([\w.-]+)\s*[=:](.*)")
_GEMINI = ".gemini"


class ProjectVariable(msgspec.Struct, frozen=True):
    """An environment variable that a project file sets."""

    file: str
    line: int
    name: str
    value: str

    @property
    def place(self) -> str:
        """The file and line."""
        return f"{self.file}:{self.line}"


def find_turning(agent: str, folder: str, environ: Mapping[str, str] = os.environ) -> tuple[ProjectVariable, ...]:
    """Return the variables by which a project's files hijack or divert this agent, started in this folder.

    Raises `ConfigError` for a file that the agent may read but Assent cannot.
    """
    root = project_root(folder)
    home = os.path.realpath(user_home(environ) or "/")
    if root is None or root in ("/", home):
        return ()
    between = [each for each in ancestors(os.path.realpath(folder)) if within(each, root)]
    found = (each for path in _files(agent, between) for each in _read(path, _stamp(path)))
    left_out = _excluded(agent, home)
    harmful = (each for each in found if turns_programs(each.name, each.value) or diverts(each.name))
    return tuple(each for each in harmful if not left_out(each))


def tell_turning(agent: str, found: Iterable[ProjectVariable]) -> str:
    """Describe the variables and what to do."""
    turning: list[str] = []
    diverting: list[str] = []
    for each in found:
        (diverting if diverts(each.name) else turning).append(f"{each.place} sets {each.name}")
    program = "which makes every program of the agent, its hook included, run or load other code"
    host = "which sends the agent's traffic, its login included, to another host"
    said = [f"{', '.join(each)}, {what}" for each, what in ((turning, program), (diverting, host)) if each]
    return f"{'; '.join(said)}; remove it from the project, or set it in your own settings of {agent}"


def _files(agent: str, folders: list[str]) -> Iterator[str]:
    """Yield the files from which an agent reads variables."""
    names: dict[str, tuple[str, ...]] = {
        "claude-code": (".claude/settings.json", ".claude/settings.local.json"),
        "codex": (".codex/config.toml",),
        "gemini": (f"{_GEMINI}/.env", ".env"),
    }
    for folder in folders:
        yield from (os.path.join(folder, name) for name in names.get(agent, ()))


def _excluded(agent: str, home: str) -> Callable[[ProjectVariable], bool]:
    """Return a test for variables of a plain `.env` that the user's Gemini CLI settings exclude by name."""
    settings = os.path.join(home, _GEMINI, "settings.json")
    content = find_file(settings) if agent == "gemini" else None
    if content is None:
        return lambda _: False
    given = jsonc.parse(content.data.decode("utf-8", "replace"), file=settings).value
    advanced = given.get("advanced") if isinstance(given, dict) else None
    names = advanced.get("excludedEnvVars") if isinstance(advanced, dict) else None
    names = names if isinstance(names, list) else []
    return lambda each: each.name in names and _GEMINI not in each.file


def _stamp(path: str) -> tuple[int, int, int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - as above
    except (OSError, ValueError):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@functools.lru_cache(maxsize=256)
def _read(path: str, stamp: tuple[int, int, int, int] | None) -> tuple[ProjectVariable, ...]:
    """Return the variables of a file, cached by its stat data."""
    content = None if stamp is None else find_file(path)
    if content is None:
        return ()
    if len(content.data) > LARGEST:
        raise ConfigError(f"the file is larger than {LARGEST >> 10} KiB", file=path)
    text = content.data.decode("utf-8", "replace").removeprefix("\ufeff")
    if path.endswith(".env"):
        return tuple(_read_dotenv(text, path))
    pairs = _toml_pairs(text, path) if path.endswith(".toml") else _json_pairs(text, path)
    return tuple(ProjectVariable(path, _find_line(text, name), name, str(value)) for name, value in pairs)


def _read_dotenv(text: str, path: str) -> Iterator[ProjectVariable]:
    """Yield every line that may be an assignment, also inside multi-line quotes."""
    for number, line in enumerate(re.split(r"\r\n?|\n", text), 1):
        if found := _DOTENV.match(line):
            yield ProjectVariable(path, number, found[1], found[2].strip().strip("\"'`"))


def _json_pairs(text: str, path: str) -> list[tuple[str, Any]]:
    """Return the variables of every `env` key: with duplicates, the agent decides which one counts."""
    try:
        top = json.loads(text, object_pairs_hook=_Pairs) if text.strip() else _Pairs(())
    except ValueError:
        value = jsonc.parse(text, file=path).value  # JSON with comments
        top = _Pairs(value.items()) if isinstance(value, dict) else _Pairs(())
    except RecursionError:
        raise ConfigError("the file is nested too deeply", file=path) from None
    found = [value for name, value in top if name == "env"] if isinstance(top, _Pairs) else []
    return [pair for each in found if isinstance(each, dict | _Pairs) for pair in _pairs_of(each)]


class _Pairs(tuple[tuple[str, Any], ...]):
    """A JSON object that keeps duplicate names."""

    __slots__ = ()


def _pairs_of(value: dict[str, Any] | _Pairs) -> Iterable[tuple[str, Any]]:
    return value.items() if isinstance(value, dict) else value


def _toml_pairs(text: str, path: str) -> list[tuple[str, Any]]:
    """Return the variables that Codex sets for commands but not for hooks."""
    try:
        policy = tomllib.loads(text).get("shell_environment_policy")
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not valid TOML: {error}", file=path) from None
    given = policy.get("set") if isinstance(policy, dict) else None
    return list(given.items()) if isinstance(given, dict) else []


def _find_line(text: str, name: str) -> int:
    """Return the line of a name; 1 if it is spelled differently."""
    at = text.find(name)
    return text.count("\n", 0, at) + 1 if at >= 0 else 1
