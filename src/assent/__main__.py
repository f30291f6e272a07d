"""`python -m assent` is `assent`."""

import sys

from assent.cli import main

if __name__ == "__main__":
    sys.exit(main())
