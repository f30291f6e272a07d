"""What the user should know about the layers, on the error stream: each thing once, however many calls follow."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from assent.cli.output.screen import complain

if TYPE_CHECKING:
    from assent.config.layers import LivePolicies


class Notices:
    """What one process has told so far."""

    def __init__(self) -> None:
        self._told: set[str] = set()
        self._faults: set[str] = set()

    def follow(self, live: LivePolicies, before: str | None) -> None:
        """Tell what is new about layers in force; `before` is the fault that their files had until now."""
        if live.fault is not None:
            self._tell_fault(live.fault, before)
            return
        for notice in live.notices:
            if notice not in self._told:
                self._told.add(notice)
                _note(notice)
        # Projects share files: what is whole again for one of them is so for all.
        if before in self._faults:
            self._faults.remove(before)
            _note("the policy can be read again: the rules as they are now are in force")

    def _tell_fault(self, fault: str, before: str | None) -> None:
        if fault != before:
            self._faults -= {before}
        if fault not in self._faults:
            self._faults.add(fault)
            _note(f"the rules before the last change are in force: {fault}")


def _note(text: str) -> None:
    # Nobody may be reading: what is decided does not depend on it.
    with contextlib.suppress(OSError):
        complain(f"note: {text}")
