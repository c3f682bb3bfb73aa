"""Pages of memory that were let go of stay with the process, where its next arrays are made.

The C library gives memory back to the system as soon as a few arrays are free, and the next ones take it anew, page by
page, each of them cleared first: a quarter of the time of solves with arrays of 100 kB to 2 MB. It keeps as much as two
arrays of the largest size that it has seen come and go.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

LARGEST = 2**25 - 2**16
"""Bytes of an array, at most, that the C library of Linux learns from."""


@lru_cache(maxsize=1)
def keep_pages() -> None:
    """Let such an array come and go, once; no page of it is ever touched."""
    np.empty(LARGEST, np.uint8)
