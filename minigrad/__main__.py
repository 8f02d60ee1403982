"""`python -m minigrad` is the same as the command `minigrad`."""

import sys

from minigrad.cli import main

sys.exit(main())
