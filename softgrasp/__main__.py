"""``python -m softgrasp``: the command line."""

import sys

from softgrasp.cli import main

if __name__ == "__main__":
    sys.exit(main())
