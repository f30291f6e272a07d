"""The interpreter that runs the first program inside, and that program, compiled."""

from __future__ import annotations

import functools
import marshal
import os
import sys
from importlib.machinery import SourceFileLoader

from assent.model import within
from assent.sandbox.errors import Unavailable

STAGE2 = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stage2.py")
"""Never imported: it does what it does when it is run."""


@functools.cache
def find_interpreter() -> tuple[str, str]:
    """Return the folder of this very Python, and its program as seen from there."""
    program = os.path.realpath(sys.executable)
    folder = os.path.realpath(sys.base_prefix)
    if not sys.executable or not within(program, folder):
        raise Unavailable(f"the interpreter {program or '(unknown)'} does not lie in {folder}")
    return folder, os.path.relpath(program, folder)


@functools.cache
def compile_stage2() -> bytes:
    """Return the program as this Python reads it at once; what was compiled before is used, if it is the same."""
    return marshal.dumps(SourceFileLoader("stage2", STAGE2).get_code("stage2"))
