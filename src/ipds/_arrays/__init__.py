"""The one place that knows about array libraries: their differences, arithmetic on whole arrays, compiled functions.

`namespaces` says which library an array belongs to, `kernels` is arithmetic that NumPy has a leaner spelling for,
`compiling` is JAX's, `sparse` makes sparse matrices, `cancelling` adds and multiplies matrices, `threads` limits BLAS,
`pages` keeps memory at hand, `real` refuses what are no real numbers.
"""

from .cancelling import matrix_product, matrix_sum, number_sum
from .kernels import (
    PIECE,
    WHOLE,
    abs_in_place,
    absolute_sum,
    add_in_place,
    add_scaled,
    at_least,
    at_most,
    between,
    divide_in_place,
    dot,
    kth_largest,
    magnitude,
    maximum_in_place,
    multiply_in_place,
    norm,
    products_of_differences,
    put_in_place,
    scaled_difference,
    subtract_in_place,
)
from .namespaces import (
    Array,
    Shape,
    adopted,
    all_finite,
    asarray,
    choose,
    either,
    fetch,
    from_numpy,
    greatest,
    held_arrays,
    is_array,
    is_awaited,
    is_double,
    is_jax,
    is_traced,
    least,
    namespace,
    on_device,
    precision,
    scalar,
    to_caller,
    to_numpy,
    truth,
    unlabelled,
    zeros,
)
from .pages import keep_pages
from .real import require_dense, require_real, require_unmasked
from .sparse import (
    by_rows,
    column_squares,
    diagonal_matrix,
    picking,
    products_with,
    row_squares,
    scaled_matrix,
    sparse_of,
    sums_of_squares,
    to_dense,
    transposed,
    with_data,
)
from .threads import threads_for, threads_for_data
