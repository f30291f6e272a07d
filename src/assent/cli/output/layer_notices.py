"""Notices about the policy layers on stderr, each printed once per process."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from assent.cli.output.screen import complain

if TYPE_CHECKING:
    from assent.config.layers import LivePolicies


class Notices:
    """Prints notices and remembers which were printed."""

    def __init__(self) -> None:
        self._printed: set[str] = set()
        self._faults: set[str] = set()

    def follow(self, live: LivePolicies, before: str | None) -> None:
        """Print the new notices of layers; `before` is the error that their files had until now."""
        if live.fault is not None:
            self._print_fault(live.fault, before)
            return
        for notice in live.notices:
            if notice not in self._printed:
                self._printed.add(notice)
                _note(notice)
        # Projects share files: a file that is valid again is so for all of them.
        if before in self._faults:
            self._faults.remove(before)
            _note("the policy files are valid again; the current rules are in force")

    def _print_fault(self, fault: str, before: str | None) -> None:
        if fault != before:
            self._faults -= {before}
        if fault not in self._faults:
            self._faults.add(fault)
            _note(f"the previous rules stay in force: {fault}")


def _note(text: str) -> None:
    # stderr may be closed; the decision does not depend on it.
    with contextlib.suppress(OSError):
        complain(f"note: {text}")
