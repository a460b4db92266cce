"""`python -m randpos` is the command line."""

import sys

from randpos.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
