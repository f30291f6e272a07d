"""`faulty.py FAULT SCRIPT WORDS…`: `assent WORDS…`, where mounts cannot be put back.

SCRIPT is what is run in place of what would put them back.
"""

import sys

from assent.cli import main
from assent.sandbox.upkeep import mounts


def break_looking(number):
    """Fail as a disk does, from the moment when there would be something to see."""
    real = mounts._is_at

    def look(held, path):
        if not real(held, path):
            raise OSError(number, "Input/output error")
        return True

    mounts._is_at = look


fault, mounts.REMOUNT, *words = sys.argv[1:]
if fault == "hanging":
    mounts._SECONDS = 0.5
if fault == "looking":
    break_looking(5)
sys.exit(main(words))
