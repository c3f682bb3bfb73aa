"""Beyond one machine: Dask arrays cut by rows stay on their workers.

`solve` and the models take Dask arrays where they take NumPy arrays; see docs/scaling.md. What a caller may want to
call directly is `rows`, which says whether data is kept in memory or read anew in every pass. Nothing here imports Dask
before a Dask array is given.
"""

from .lazy import Later, Rows
from .rows import content_digest, cut_like, rows, to_dask

__all__ = ["Later", "Rows", "content_digest", "cut_like", "rows", "to_dask"]
