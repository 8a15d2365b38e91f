"""``python -m localmem``."""

import sys

from localmem.cli import main

sys.exit(main())
