"""Path patterns: `*` is one level, `**` any depth, `?` one character, `[…]` one of a set.

The common forms are compared as text; the rest are translated to RE2, which no pattern can make hang.
"""

from __future__ import annotations

import functools
from typing import Literal, TypeAlias

import msgspec

import assent.lazy_regex as re
from assent.analysis.resources.re2 import compile_expression
from assent.model import fold, within

Anchor: TypeAlias = Literal["root", "home", "cwd"]

_SPECIAL = re.compile(r"[*?\[\\]")


class Glob(msgspec.Struct, frozen=True):
    """One compiled pattern over absolute, normalised paths (for a relative one: as seen from its anchor)."""

    text: str
    base: str
    """The folder, or file, that the pattern is literally about; "/" if it names none."""
    form: Literal["exact", "single", "level", "below", "pattern"]
    """`single` is exactly one path, and not what is in it either."""
    anchor: Anchor = "root"
    up: int = 0
    """How many folders above the anchor it starts."""
    expression: str = ""

    def matches(self, path: str) -> bool:
        """Tell whether the pattern matches the path."""
        if self.form == "pattern":
            return compile_expression(self.expression).fullmatch(path) is not None
        if self.form in ("exact", "single") or path == self.base:
            return self.form in ("exact", "single") and path == self.base
        if not within(path, self.base):
            return False
        return self.form == "below" or path.rfind("/") == (len(self.base) if self.base != "/" else 0)

    def touches(self, path: str) -> bool:
        """Tell whether it matches the path, names a folder that the path is in, or is about all in that very folder."""
        if self.matches(path) or (self.form == "exact" and within(path, self.base)):
            return True
        # A pattern such as `**/*.pem` names no folder: it is not about all that is in its starting point.
        return path == self.base and (self.form in ("level", "below") or (self.form == "pattern" and path != "/"))

    def sweeps(self, root: str) -> bool:
        """Tell whether walking from this root is walking what the pattern is about."""
        return self.touches(root) or (
            self.form not in ("exact", "single") and self.base != "/" and within(root, self.base)
        )

    @property
    def folded(self) -> Glob:
        """Return the pattern over folded paths."""
        return msgspec.structs.replace(compile_glob(fold(self.text)), form=self.form)

    def is_all_below(self, path: str) -> bool:
        """Tell whether everything in this folder, to any depth, matches."""
        return self.form == "below" and path == self.base

    def seen_from(self, start: str, path: str) -> str | None:
        """Return a path as the pattern sees it from its anchor, or None if it lies elsewhere."""
        root = self._root(start)
        return (path[len(root) :] or "/") if within(path, root or "/") else None

    def base_from(self, start: str) -> str | None:
        """Return the absolute path of what the pattern is literally about; None if it names nothing."""
        return None if self.base == "/" else self._root(start) + self.base

    def is_below(self, start: str, path: str) -> bool:
        """Tell whether what the pattern is literally about lies below a path."""
        base = self.base_from(start)
        return base is not None and base != path and within(base, path)

    def _root(self, start: str) -> str:
        root = start.rstrip("/")
        for _ in range(self.up):
            root = root.rpartition("/")[0]
        return root


def escape_glob(path: str) -> str:
    """Return the pattern that matches exactly this path."""
    return _SPECIAL.sub(r"\\\g<0>", path)


@functools.lru_cache(maxsize=65536)
def compile_glob(pattern: str) -> Glob:
    """Compile a pattern, or raise `RuleError` if it can never be one."""
    anchor: Anchor = "root"
    text = pattern
    if text == "~" or text.startswith("~/"):
        anchor, text = "home", text[1:]
    elif not text.startswith("/"):
        anchor = "cwd"
    parts, up = _normal(text.split("/"))
    count = next((i for i, p in enumerate(parts) if _SPECIAL.search(p)), len(parts))
    base = "/" + "/".join(parts[:count])
    rest = parts[count:]
    if not rest:
        return Glob(pattern, base, "exact", anchor, up)
    if rest in (["**"], ["*"]):
        return Glob(pattern, base, "below" if rest == ["**"] else "level", anchor, up)
    expression = _expression(parts)
    compile_expression(expression)
    return Glob(pattern, base, "pattern", anchor, up, expression)


def _normal(parts: list[str]) -> tuple[list[str], int]:
    """Drop empty and `.` parts and apply `..`; count those that lead above the start."""
    out: list[str] = []
    up = 0
    for part in parts:
        if part == "..":
            if out:
                out.pop()
            else:
                up += 1
        elif part not in ("", "."):
            out.append(part)
    return out, up


def _expression(parts: list[str]) -> str:
    out = []
    for index, part in enumerate(parts):
        if part == "**":
            out.append("(?:/[^/]+)+" if index == len(parts) - 1 else "(?:/[^/]+)*")
        else:
            out.append("/" + _segment(part))
    return "(?s)" + "".join(out)


def _segment(part: str) -> str:
    """Translate one level of a path."""
    out, i = "", 0
    while i < len(part):
        char, i = part[i], i + 1
        if char == "*":
            out += "[^/]*"
        elif char == "?":
            out += "[^/]"
        elif char == "\\" and i < len(part):
            out, i = out + re.escape(part[i]), i + 1
        elif char == "[" and (end := part.find("]", i + 1)) > 0:
            out, i = out + _charset(part[i:end]), end + 1
        else:
            out += re.escape(char)
    return out


def _charset(body: str) -> str:
    negated = body[0] in "!^" and len(body) > 1
    inner = re.sub(r"([\\\[\]^&~|])", r"\\\1", body[1:] if negated else body)
    return f"[^/{inner}]" if negated else f"[{inner}]"
