"""A character set whose converter is a project's own: a program that starts in such a locale loads and runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CONVERTER = """
#include <fcntl.h>
#include <stddef.h>
static void __attribute__((constructor)) plant(void) {{ int f = open("{}", O_CREAT | O_WRONLY, 0600); (void) f; }}
int gconv_init(void *s) {{ return 0; }}
int gconv(void *s, void *d, const unsigned char **i, const unsigned char *e, unsigned char **o, size_t *c, int f, int g)
{{ return 4; }}
"""


def plant_character_set(folder: Path, mark: Path) -> dict[str, str]:
    """Put one into a folder, show that Python loads it, and return the environment that names it."""
    (folder / "planted.c").write_text(CONVERTER.format(mark))
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", folder / "planted.so", folder / "planted.c"], check=True)
    (folder / "gconv-modules").write_text(
        "module ISO-8859-9// INTERNAL planted 1\nmodule INTERNAL ISO-8859-9// planted 1\n"
    )
    made = ["localedef", "--no-archive", "-c", "-i", "tr_TR", "-f", "ISO-8859-9", folder / "xx"]
    subprocess.run(made, check=False, capture_output=True)  # it warns, and makes it all the same
    hostile = {"LOCPATH": str(folder), "LC_ALL": "xx", "GCONV_PATH": str(folder)}
    subprocess.run([sys.executable, "-I", "-S", "-c", "''", "\u00e9"], env=hostile, check=False, capture_output=True)
    mark.unlink()  # there is none where that was no attack
    return hostile
