"""The message that a daemon signs to give a launcher the boundary of one decision."""

from __future__ import annotations

from assent.model import SandboxProfile, digest


def boundary_message(decision: str, nonce: str, line: str, boundary: SandboxProfile, *, asks: bool) -> bytes:
    """Return the message to sign: the decision, the launcher's nonce, the words and folder, and the boundary."""
    return digest(["assent.boundary.v1", decision, nonce, line, boundary, asks]).encode()
