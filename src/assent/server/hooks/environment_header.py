"""`X-Assent-Environment`: the environment in which the agent's commands start, as the hook sends it.

`NAME=value&NAME=value&NAME`, percent-encoded; a name alone is a variable whose value is not sent.
"""

from __future__ import annotations

import functools
import re
from urllib.parse import unquote_to_bytes

from assent.analysis.resources.environment import select
from assent.model import CallError, Environment

HEADER = b"x-assent-environment"
LARGEST = 48 << 10
_MOST = 2_000
_LONGEST_NAME = 512
_CREDENTIALS = re.compile(r"(?<=://)[^/\s]*@")


@functools.lru_cache(maxsize=256)
def read_environment(header: bytes) -> Environment:
    """Read an environment, or raise `CallError`: in an unreadable environment nobody knows what would run."""
    if len(header) > LARGEST:
        raise CallError("the agent's environment is too large to be judged; start the agent with fewer variables")
    pairs = [_read_pair(part) for part in header.split(b"&") if part]
    variables = dict(pairs)
    if len(variables) != len(pairs) or len(pairs) > _MOST:
        raise CallError("the hook names a variable of the agent's environment twice, or too many of them")
    if variables.get("PATH", "") is None:
        raise CallError("the agent's PATH is not text, so that nobody knows what would run")
    return select(variables)


def _read_pair(part: bytes) -> tuple[str, str | None]:
    name, equals, value = part.partition(b"=")
    told = _decode(name)
    if not told or len(told) > _LONGEST_NAME:
        raise CallError("the hook sent an environment that cannot be read; run `assent doctor`")
    return told, _CREDENTIALS.sub("", text) if equals and (text := _decode(value)) is not None else None


def _decode(text: bytes) -> str | None:
    try:
        found = unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in found else found
