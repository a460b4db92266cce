"""`python -m randpos` is the command line."""

import sys

from randpos.cli import main

if __name__ == "__main__":
    sys.exit(main())
