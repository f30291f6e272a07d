"""For programs that talk to the daemon. The names below are loaded when they are first used."""

from __future__ import annotations

TYPE_CHECKING = False  # as `typing` has it, without loading that
if TYPE_CHECKING:
    from typing import Any

    from assent.sdk.client.runs import RunClient, RunProtocolError

__all__ = ["RunClient", "RunProtocolError"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'assent.sdk' has no attribute '{name}'")
    from assent.sdk.client import runs  # noqa: PLC0415 - few need it, and it takes a moment

    return getattr(runs, name)
