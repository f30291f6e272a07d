"""The seal on a boundary: what a daemon says about one decision, to one launcher, and nobody can say in its place."""

from __future__ import annotations

from assent.model import SandboxProfile, digest


def seal_message(decision: str, nonce: str, line: str, boundary: SandboxProfile, *, asks: bool) -> bytes:
    """Return what is signed: which decision, asked for with which nonce, for which words and folder, held how."""
    return digest(["assent.boundary.v1", decision, nonce, line, boundary, asks]).encode()
