"""Claude Code leaves out a whole file of settings for one setting it does not take, and says so to nobody: it is asked.

It is asked about a copy, in a folder of its own, whether it is logged in: a way to log in that only the copy holds
tells whether the copy was read. Nothing of the user's is run for that, and nobody else is asked.
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


def find_untaken(program: str, settings: Any, environ: Mapping[str, str]) -> list[str]:
    """Name the settings for which Claude Code leaves out a file that holds these; none where it can not be asked."""
    if not program or not isinstance(settings, dict) or _takes(program, settings, environ):
        return []
    if not _takes(program, {}, environ):
        return []  # this is another Claude Code than the one that was tried
    return [name for name, value in settings.items() if not _takes(program, {name: value}, environ)] or list(settings)


def _takes(program: str, settings: dict[str, Any], environ: Mapping[str, str]) -> bool:
    given = {**settings, **_HELPER}
    if isinstance(given.get("env"), dict):
        given["env"] = {}  # it could name another way to log in
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
