"""`faulty.py FAULT SCRIPT WORDS…`: `assent WORDS…`, where mounts can not be put back.

SCRIPT is what is run in place of what would put them back.
"""

import sys

from assent.cli import main
from assent.sandbox import upkeep


def break_looking(number):
    """Fail as a disk does, from the moment when there would be something to see."""
    real = upkeep._is_at

    def look(held, path):
        if not real(held, path):
            raise OSError(number, "Input/output error")
        return True

    upkeep._is_at = look


fault, upkeep.RENEW, *words = sys.argv[1:]
if fault == "hanging":
    upkeep._SECONDS = 0.5
if fault == "looking":
    break_looking(5)
sys.exit(main(words))
