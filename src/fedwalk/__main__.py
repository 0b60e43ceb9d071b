"""`python -m fedwalk` runs the command line, like `fedwalk`."""

import sys

from fedwalk.cli import main

if __name__ == "__main__":
    sys.exit(main())
