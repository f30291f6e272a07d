"""Patches: every file they would change, in all their forms."""

from __future__ import annotations

import pytest

from assent.model import UNKNOWN
from assent.reading.patches import patched_paths

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
    "none": ("just\nsome\ntext", []),
    "only nothing": ("--- /dev/null\n+++ /dev/null\n", []),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_patch_names_its_files(form):
    patch, paths = FORMS[form]
    assert sorted(patched_paths(patch)) == sorted(paths)
