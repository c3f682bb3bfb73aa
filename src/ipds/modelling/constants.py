"""Data beside variables: matrices and constants as they enter expressions."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from array_api_compat import is_dask_array

from .._arrays import Shape, all_finite, is_array, require_real, to_numpy, unlabelled
from .maps import Body, Map
from .writing import shown


def as_matrix(M: Any) -> Any:
    """A NumPy or SciPy sparse matrix or vector as it enters a product; None where it is something else."""
    if scipy.sparse.issparse(M):
        M = scipy.sparse.csr_array(M)
    elif isinstance(M, list | tuple):
        M = np.asarray(M)
    else:
        M = local(M)
    if not scipy.sparse.issparse(M) and not isinstance(M, np.ndarray):
        return None
    require_real("the matrix", M)
    M = M if M.dtype.kind == "f" else M.astype(float)
    if not all_finite(M.data if scipy.sparse.issparse(M) else M):
        raise ValueError(f"{shown(M)} contains NaN or infinity")
    return M


def local(x: Any) -> Any:
    """Arrays of PyTorch, JAX and others as NumPy's, data frames and their columns too; Dask arrays as they are."""
    x = unlabelled(x)
    return to_numpy(x) if is_array(x) and not is_dask_array(x) else x


def constant_in(constant: Any, wanted: Shape) -> Any:
    """A constant, broadcast."""
    return constant if plain(constant) else np.broadcast_to(to_numpy(constant), wanted)


def constant_after(left: Body, constant: Any, inputs: Shape, outputs: Shape) -> Any:
    """left · constant."""
    if plain(constant) and constant == 0.0:
        return 0.0
    if isinstance(left, float):
        if plain(constant) or inputs == outputs:
            return left * constant
        return left * to_numpy(constant).reshape(outputs)
    full = np.broadcast_to(to_numpy(np.asarray(constant)), inputs)
    image = np.asarray(Map(inputs, outputs, left).apply(full))
    return image if outputs else float(image.reshape(()))


def plain(constant: Any) -> bool:
    """Whether a constant is one number for all entries."""
    return isinstance(constant, float)


def block_shape(shape: Shape) -> Shape:
    """A shape as blocks have it, with at least one axis."""
    return shape or (1,)


def block_constant(constant: Any) -> Any:
    """A constant as blocks have it, with at least one axis."""
    return constant if plain(constant) or constant.ndim else constant.reshape((1,))
