"""Patches: every file they would change, in all their forms."""

from __future__ import annotations

import contextlib

import pytest

from assent.analysis.languages.patch import read_patch
from assent.model import UNKNOWN, CallError

FORMS = {
    "add": ("*** Begin Patch\n*** Add File: src/new.py\n+x\n*** End Patch", ["src/new.py"]),
    "update": ("*** Begin Patch\n*** Update File: a b.py\n@@\n-x\n+y\n*** End Patch", ["a b.py"]),
    "delete": ("*** Begin Patch\n*** Delete File: old.py\n*** End Patch", ["old.py"]),
    "move": ("*** Update File: a.py\n*** Move to: ../b.py\n@@\n", ["a.py", "../b.py"]),
    "several": ("*** Add File: a\n+x\n*** Delete File: b\n*** Update File: c\n", ["a", "b", "c"]),
    "indented": ("*** Begin Patch\n  *** Add File: x\n+y", ["x"]),
    "carriage returns": ("*** Add File: a.py\r\n+x\r\n", ["a.py"]),
    "trailing blanks": ("*** Add File: a.py  \n", ["a.py"]),
    "no blank": ("*** Add File:a.py\n", ["a.py"]),
    "unified": ("--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n", ["x.py"]),
    "unified, dated": ("--- x.py\t2026-01-01\n+++ x.py\t2026-01-02\n", ["x.py"]),
    "unified, new": ("--- /dev/null\n+++ b/new.py\n", ["new.py"]),
    "unified, gone": ("--- a/old.py\n+++ /dev/null\n", ["old.py"]),
    "unified, absolute": ("--- /etc/hosts\n+++ /etc/hosts\n", ["/etc/hosts"]),
    "unified, CRLF": ("--- a/x.py\r\n+++ b/x.py\r\n", ["x.py"]),
    "quoted": ('--- "a/.env"\n+++ "b/.env"\n', [".env"]),
    "quoted with escapes": ('--- "a/\\056env"\n+++ "b/\\056env"\n', [UNKNOWN]),
    "rename": ("diff --git a/x b/y\nrename from x\nrename to y\n", ["x", "y"]),
    "copy": ("copy from x\ncopy to y z\n", ["x", "y z"]),
    "binary": ("diff --git a/bin b/bin\nGIT binary patch\n", ["bin"]),
    "index": ("Index: src/a.c\n=====\n", ["src/a.c"]),
    "other case": ("*** add file: a\n*** UPDATE FILE: b\n", ["a", "b"]),
    "words that others may know": ("*** Update File: a\n*** Rename to: /etc/x\n", ["a", UNKNOWN]),
    "indented words": ("*** Update File: a\n  *** Rename To: /etc/x\n", ["a", UNKNOWN]),
    "a line of stars in the text": (
        "*** Update File: a.md\n@@\n ***\n ***bold***\n+*** x\n*** End of File\n",
        ["a.md"],
    ),
    "another end of a line": ("*** Add File: a\u2028*** Add File: b\n", ["a\u2028*** Add File: b", "a", "b"]),
    "other quotes": ("*** Add File: '/etc/x'\n", [UNKNOWN]),
    "no name": ("*** Add File:\n*** Add File: a\n", ["a"]),
    "unified, indented": ("  --- a/x.py\n  +++ b/y.py\n", ["x.py", "y.py"]),
    "binary, with blanks": ("diff --git a/a b b/a b\nGIT binary patch\n", [UNKNOWN]),
    "context": ("*** a/x\n--- b/y\n***************\n", ["y", UNKNOWN]),
    "none": ("just\nsome\ntext", []),
    "only nothing": ("--- /dev/null\n+++ /dev/null\n", []),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_patch_names_its_files(form):
    patch, paths = FORMS[form]
    assert sorted(read_patch(patch).paths) == sorted(paths)


def test_a_file_that_is_deleted_behind_another_end_of_a_line_is_deleted():
    assert read_patch("*** Add File: a\u2028*** Delete File: b").deletes
    assert not read_patch("*** Add File: a\n+*** Delete File: b").deletes


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", ["\n", " ", "\t", "*** ", "a ", '"', "\r", "\n *** a", "\n--- ", "\u2028"])
@pytest.mark.parametrize("start", ["", "*** Add File: a", "diff --git ", "--- ", "rename from "])
def test_no_patch_takes_long_to_read(start, piece):
    with contextlib.suppress(CallError):
        read_patch(start + piece * 100_000 + "x")


@pytest.mark.parametrize(
    "patch", ["*** Add File: a\n" * 9_000, "--- " + "a" * 17_000, "***" + " " * 17_000 + "Add File: a"]
)
def test_a_patch_that_says_too_much_is_refused(patch):
    with pytest.raises(CallError, match="too long to analyse"):
        read_patch(patch)
    assert read_patch("*** Add File: a\n" + "+a\n" * 90_000 + "+" + "b" * 90_000).paths == ("a",)
