"""Faults put where they hurt: every function that a decision passes through can be made to raise."""

from __future__ import annotations

import functools
import inspect
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType, FrameType

    import pytest

SPARED = ("assent.model",)
"""The vocabulary: records, whose faults are faults of whoever builds them."""
Place: TypeAlias = tuple[object, str, Any]
"""The holder, the name, the function."""


def record_calls(action: Callable[[], object]) -> dict[CodeType, list[dict[str, Any]]]:
    """Run the action and return each function of ours that it called, with the arguments of each call."""
    seen: dict[CodeType, list[dict[str, Any]]] = {}

    def notice(frame: FrameType, event: str, _arg: object) -> None:
        if event == "call" and str(frame.f_globals.get("__name__", "")).startswith("assent."):
            seen.setdefault(frame.f_code, []).append(dict(frame.f_locals))

    before = sys.getprofile()
    sys.setprofile(notice)
    try:
        action()
    finally:
        sys.setprofile(before)
    return seen


def places() -> tuple[Place, ...]:
    """Give every name that a function or method of ours is called by."""
    return _places(len(sys.modules))


@functools.lru_cache(maxsize=1)
def _places(_modules: int) -> tuple[Place, ...]:
    return tuple(_look_around())


@functools.lru_cache(maxsize=1)
def _by_code(_modules: int) -> dict[CodeType, list[Place]]:
    found: dict[CodeType, list[Place]] = {}
    for place in places():
        found.setdefault(code_of(place[2]), []).append(place)
    return found


def _look_around() -> Iterator[Place]:
    for module_name, module in list(sys.modules.items()):
        if not module_name.startswith("assent.") or module_name.startswith(SPARED):
            continue
        for name, value in list(vars(module).items()):
            if inspect.isclass(value) and value.__module__.startswith("assent."):
                if not value.__module__.startswith(SPARED) and value.__module__ == module_name:
                    yield from ((value, n, v) for n, v in list(vars(value).items()) if code_of(v))
            elif code_of(value):
                yield module, name, value


def code_of(value: object) -> CodeType | None:
    """Return the code behind a function, also through a cache, a property or a static method."""
    for attribute in ("__wrapped__", "__func__", "fget", "func"):
        value = getattr(value, attribute, value)
    return getattr(value, "__code__", None)


def break_everywhere(monkeypatch: pytest.MonkeyPatch, code: CodeType, replacement: Callable[..., Any]) -> bool:
    """Put the replacement in every place where this function is held; tell whether there is one."""
    found = _by_code(len(sys.modules)).get(code, [])
    for holder, name, value in found:
        monkeypatch.setattr(holder, name, _in_the_form_of(value, replacement))
    return bool(found)


def _in_the_form_of(value: object, replacement: Callable[..., Any]) -> object:
    if isinstance(value, staticmethod | classmethod | property):
        return type(value)(replacement)
    return property(replacement) if isinstance(value, functools.cached_property) else replacement


def forget_everything() -> None:
    """Empty every cache of ours, so that the next decision passes through all functions again."""
    for _, _, value in places():
        if hasattr(value, "cache_clear"):
            value.cache_clear()


def name_of(code: CodeType) -> str:
    """Name a function for the list of tests."""
    return f"{code.co_filename.rpartition('assent/')[2]}:{code.co_qualname}"
