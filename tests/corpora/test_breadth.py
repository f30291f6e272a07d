"""The corpora have lines of every kind, and many."""

from __future__ import annotations

import pytest

from corpus import rows

CLASSES = (
    "chaining",
    "command-substitution",
    "parameter-expansion-exec",
    "process-substitution",
    "heredoc-herestring",
    "quoting-and-encoding",
    "unicode-and-invisible",
    "environment-prefix",
    "shell-builtins",
    "redirection",
    "wrappers",
    "interpreters",
    "git-options-and-config",
    "find-and-fd",
    "sed-awk",
    "tool-flags-that-write-or-run",
    "file-mutation",
    "network-and-exfiltration",
    "download-decode-run",
    "package-managers-and-builds",
    "secret-reads",
    "path-tricks",
    "control-plane-tampering",
    "parser-differential",
    "unparsable-or-hostile-to-parsers",
)
"""Ways past a guard; each has lines that must not be allowed."""


def test_the_corpora_are_large():
    assert len(rows()) >= 1_500


@pytest.mark.parametrize("name", CLASSES)
def test_every_way_past_a_guard_has_lines_that_are_not_allowed(name):
    assert sum(row.kind == name and row.verdict != "allow" for row in rows()) >= 4
