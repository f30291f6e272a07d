"""Every path that a tool may take one string for: tools strip, decode and expand what they are given."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

import assent.lazy_regex as re
from assent.analysis.resources.urls import decode
from assent.catalog.secret_names import SECRET_FOLDERS
from assent.model import Facts

MOST = 16
"""Spellings of one string that are looked at."""
_PLAIN = re.compile(r"(?![~$%{<])[^\x00-\x1f\x7f-\x9f\u2028\u2029\\%:]*")
"""What nobody decodes or expands; but perhaps strips."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_EDGES = " \t\r\n\f\v\u00a0\ufeff\u200b'\"`<>"
_SCHEME = re.compile(r"(?i)(?:file:|[a-z][a-z0-9+.-]+:(?=/|%2f))(?P<rest>.*)", re.DOTALL)
_SHARE = re.compile(r"(?i)//(?:[?.](?:/unc/[^/]+)?|(?:[?.]/unc/)?wsl(?:\$|\.localhost)/[^/]+)(?=/)")
"""How Windows begins a path that it takes as it stands, or one of Linux."""
_SOMEBODY = re.compile(r"~([\w.-]+)(?=/|$)")
_VARIABLE = re.compile(r"(?:\$\{?(?:env[:.])?|%|\{\{?\s?(?:env\.)?|<)(?P<name>\w+)\s?(?:\}\}?|%|>)?(?=/|$)", re.ASCII)
_EXPRESSION = re.compile(r"[*+?^$(|\[{]")
"""What makes a backslash part of a regular expression."""
_HOMES = ("HOME", "USERPROFILE", "USERHOME", "HOMEDIR")
_HERE = ("PWD", "CWD", "WORKSPACEFOLDER", "WORKSPACEROOT", "PROJECT_DIR", "CLAUDE_PROJECT_DIR")


def spellings(text: str, facts: Facts) -> tuple[str, ...]:
    """Return what a string may be taken for as a path: itself first, without control characters."""
    if _PLAIN.fullmatch(text) and text.strip(_EDGES) == text and not text.startswith("//"):
        return (text,)
    found = [text]
    for each in found:
        found += [other for other in dict.fromkeys(_others(each, facts)) if other and other not in found]
        if len(found) > MOST:
            break
    return tuple([each for each in found if not _CONTROL.search(each)])


def tidy(text: str) -> str:
    """Drop control characters, and what stands around a name."""
    return (text if text.isprintable() else _CONTROL.sub("", text)).strip(_EDGES)


def _others(text: str, facts: Facts) -> Iterator[str]:
    """Yield what one step of tidying, decoding or expanding makes of a string."""
    yield tidy(text)
    yield text.partition("\0")[0]
    if "\\" in text and (text.startswith("\\\\") or not _EXPRESSION.search(text)):
        yield text.replace("\\", "/")
    if text.startswith("//"):
        yield _SHARE.sub("", text)
    if "%" in text:
        yield decode(text)
    if scheme := _SCHEME.match(text):
        yield from _behind(scheme["rest"])
    if text.startswith("~"):
        yield from _at_home(text, facts.home)
    if variable := _VARIABLE.match(text):
        yield from _put_in(variable["name"].upper(), text[variable.end() :], facts)


def _behind(rest: str) -> Iterator[str]:
    """Yield the path behind a scheme: with what stands in the place of the host, and without."""
    if rest.startswith("//"):
        yield "/" + rest[2:].partition("/")[2]
    yield f"/{rest.lstrip('/')}" if rest.startswith("/") else rest


def _at_home(text: str, home: str | None) -> Iterator[str]:
    """Yield `~name` as this home, which it may be, and as the home of somebody else beside it."""
    somebody = _SOMEBODY.match(text)
    if somebody is not None and home is not None:
        yield home + text[somebody.end() :]
        yield f"{posixpath.dirname(home)}/{somebody[1]}{text[somebody.end() :]}"


def _put_in(name: str, rest: str, facts: Facts) -> Iterator[str]:
    """Yield a path that begins with a variable, by where such variables lead as a rule."""
    if name in _HOMES:
        yield f"~{rest}"
    elif name in _HERE:
        yield f".{rest}"
    elif name in SECRET_FOLDERS:
        yield SECRET_FOLDERS[name] + rest
    elif name == "ASSENT_HOME":
        yield from (path + rest for path in facts.assent_paths)
