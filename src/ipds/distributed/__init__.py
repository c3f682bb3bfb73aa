"""Beyond one machine: Dask arrays cut by rows stay on their workers.

`solve` and the models take Dask arrays where they take NumPy arrays; see docs/scaling.md. What a caller may want to
call directly is `rows`, which says whether data is kept in memory or read anew in every pass. Nothing here imports
Dask before a Dask array is given. `lazy` writes NumPy calls on such arrays down as `nodes`, `plan` carries them out,
`cluster` says by whom, `layout` how rows are cut, `waiting` and `answers` how results come back.
"""

from .lazy import Later, Rows
from .rows import content_digest, cut_like, rows, to_dask
from .waiting import ClusterError, at_most, looking

__all__ = [
    "ClusterError",
    "Later",
    "Rows",
    "at_most",
    "content_digest",
    "cut_like",
    "looking",
    "rows",
    "to_dask",
]
