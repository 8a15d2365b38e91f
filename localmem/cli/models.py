"""Commands about models: list, pull, use, verify; and the doctor."""

from __future__ import annotations

