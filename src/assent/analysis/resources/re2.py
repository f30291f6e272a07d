"""Regular expressions written by others, compiled with RE2, which none of them can make hang."""

from __future__ import annotations

import functools
from typing import Any

from assent.budget import loaded
from assent.model import RuleError


@functools.lru_cache(maxsize=65536)
def compile_expression(expression: str) -> Any:
    """Compile an expression, or raise `RuleError` if it can never be one."""
    import re2  # noqa: PLC0415 - only needed for patterns beyond the common forms

    loaded()
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(expression, options)
    except (re2.error, UnicodeError) as error:
        raise RuleError(f"pattern cannot be used: {error}") from None
