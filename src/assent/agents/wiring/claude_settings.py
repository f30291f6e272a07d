"""Check settings with Claude Code itself, which silently ignores a whole file for one invalid setting.

A copy of the settings in a temporary folder gets a login helper; `claude auth status` shows whether the copy was read.
No program of the user runs and no server is contacted.
"""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH118

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_SECONDS = 30
_HELPER = {"apiKeyHelper": "/bin/true"}
_QUIET = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY")


def find_rejected(program: str, settings: Any, environ: Mapping[str, str]) -> list[str]:
    """Return the settings because of which Claude Code ignores a file; empty if it cannot be asked."""
    if not program or not isinstance(settings, dict) or _accepts(program, settings, environ):
        return []
    if not _accepts(program, {}, environ):
        return []  # an untested version of Claude Code
    return [name for name, value in settings.items() if not _accepts(program, {name: value}, environ)] or list(settings)


def _accepts(program: str, settings: dict[str, Any], environ: Mapping[str, str]) -> bool:
    given = {**settings, **_HELPER}
    if isinstance(given.get("env"), dict):
        given["env"] = {}  # it could contain another login
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "settings.json"), "w", encoding="utf-8") as file:  # noqa: PTH123 - as above
            json.dump(given, file)
        alone = {name: environ[name] for name in ("PATH", "LANG") if name in environ}
        alone |= {"HOME": folder, "CLAUDE_CONFIG_DIR": folder, "TMPDIR": folder} | dict.fromkeys(_QUIET, "1")
        try:
            done = subprocess.run(  # noqa: S603 - the user's own
                [program, "auth", "status"],
                env=alone,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=_SECONDS,
            )
        except (OSError, subprocess.SubprocessError):
            return False
    return b'"apiKeyHelper"' in done.stdout
