"""`python -m shuffleproof`."""

import sys

from shuffleproof.core.__main__ import run

sys.exit(run())
