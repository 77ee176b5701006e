# PYTHON_ARGCOMPLETE_OK
"""``python -m gpumem``."""

import sys

from .cli import main

sys.exit(main())
