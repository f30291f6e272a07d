"""The Python interpreter for the first program inside, and that program, compiled."""

from __future__ import annotations

import functools
import marshal
import os
import sys
from importlib.machinery import SourceFileLoader

from assent.model import within
from assent.sandbox.errors import Unavailable

INNER_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inner_program.py")
"""Run as a script, never imported."""


@functools.cache
def find_interpreter() -> tuple[str, str]:
    """Return the folder of this Python, and the path of its program relative to that folder."""
    program = os.path.realpath(sys.executable)
    folder = os.path.realpath(sys.base_prefix)
    if not sys.executable or not within(program, folder):
        raise Unavailable(f"the interpreter {program or '(unknown)'} is not in {folder}")
    return folder, os.path.relpath(program, folder)


@functools.cache
def compile_inner_program() -> bytes:
    """Return the bytecode of the first program, from the cache if it is current."""
    return marshal.dumps(SourceFileLoader("inner_program", INNER_PROGRAM).get_code("inner_program"))
