"""The interpreter that runs the first program inside, and that program, compiled."""

from __future__ import annotations

import functools
import importlib.util
import marshal
import os
import sys

from assent.model import within
from assent.sandbox import stage2
from assent.sandbox.errors import Unavailable


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
    """Return the program as this Python reads it at once."""
    with open(stage2.__file__, encoding="utf-8") as file:
        code = compile(file.read(), "stage2", "exec", dont_inherit=True, optimize=2)
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)
