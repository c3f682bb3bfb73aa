"""Many problems of one shape at once: a path of weights, many seeds, many data sets, in one compiled loop of JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from .._arrays import Array, is_jax
from .._arrays.compiling import compiled, in_dtype
from ..errors import AssumptionError
from ..methods import IPDS, State
from ..problem import Problem
from ..theory.scales import units
from .advance import parts, repeated, with_states
from .options import Options, check_options, check_problem
from .run import Run
from .solve import result_of
from .starting import starting_point
from .stopping import Stopwatch

if TYPE_CHECKING:
    from ..result import Result


def solve_batch(
    make_problem: Callable[[Any], Problem],
    parameters: Any,
    x0: Sequence[Sequence[Array]] | None = None,
    method: IPDS | None = None,
    *,
    seeds: Sequence[int] | None = None,
    max_iter: int = 10_000,
    tol: float = 1e-4,
    check_every: int = 50,
) -> list[Result]:
    """Solve make_problem(p) for every p by IPDS, all iterations in one loop that JAX compiles and maps over the batch.

    Parameters
    ----------
    make_problem : p ↦ Problem, written for JAX: p is traced, so it may enter as a weight (`L1(p)`), as data or as `b`,
        but decide no shape, no integer and no branch.
    parameters : JAX array, or tuple or dictionary of such; the first axis counts the problems.
    x0 : starting blocks of every problem; default: made for it, drawn by its entry of `seeds`.
    method : the settings of IPDS; default `IPDS("practical")`. Every f must state its Lipschitz constant.
    seeds : of the starting points; default: 0 for all.
    max_iter, tol, check_every : as in `solve`. A problem that has reached `tol` keeps its result; the others go on.

    Returns
    -------
    list of Result : one per problem, certified one by one.

    >>> import pytest; jax = pytest.importorskip("jax")
    >>> import jax.numpy as jnp
    >>> from ipds import Block, Problem, solve_batch
    >>> from ipds.functions import L1, LeastSquares
    >>> y = jnp.asarray([3.0, -0.5, 1.0])
    >>> def lasso(rho):
    ...     return Problem([Block(f=LeastSquares(jnp.eye(3), y), shape=3, A=-1.0), Block(h=L1(rho), shape=3)])
    >>> [round(result.fun, 1) for result in solve_batch(lasso, jnp.asarray([0.5, 1.0, 2.0]), tol=1e-3)]
    [1.9, 3.1, 4.6]
    """
    check_options(max_iter, tol, None, None, check_every)
    jax, method = with_states(), method or IPDS("practical")
    if not isinstance(method, IPDS):
        raise TypeError(f"solve_batch: method must be an IPDS object, got {method!r}")
    leaves = jax.tree.leaves(parameters)
    if not leaves or not all(is_jax(leaf) and leaf.ndim for leaf in leaves):
        raise TypeError("solve_batch: parameters must be JAX arrays whose first axis counts the problems")
    count = leaves[0].shape[0]
    if count == 0:
        return []
    if any(leaf.shape[0] != count for leaf in leaves):
        raise ValueError(
            f"solve_batch: parameters must agree in their first axis, got {[a.shape[0] for a in leaves]}"
        )
    for name, given in (("x0", x0), ("seeds", seeds)):
        if given is not None and len(given) != count:
            raise ValueError(f"solve_batch: {name} has {len(given)} entries for {count} problems")
    options, clock = Options(max_iter, tol, None, None, False, check_every), Stopwatch()
    problems, runs, states, parameters_used = [], [], [], []
    for k in range(count):
        problem = make_problem(jax.tree.map(lambda a, k=k: a[k], parameters))
        check_problem(problem)
        _require_lipschitz(problem)
        seed = None if seeds is None else seeds[k]
        x, z = starting_point(problem, None if x0 is None else x0[k], None, seed)
        x, z = jax.tree.map(jax.numpy.asarray, (x, z))
        start = method.init(problem, x, z)
        problems.append(problem)
        parameters_used.append(method.parameters_of(start))
        scales = units(problem, x, z, seed, invent=x0 is not None)
        runs.append(Run.begin(problem, method, start, scales))
        states.append(method.step(problem, start))
    batch = _Batch(make_problem, parameters, method, states)
    while any(run.status is None for run in runs):
        for k, (problem, run) in enumerate(zip(problems, runs, strict=True)):
            if run.status is None:
                run.status = run.look(problem, batch.state(k), options, clock)
        batch.to(options.next_check(batch.t))
    ended = zip(problems, runs, parameters_used, strict=True)
    return [result_of(problem, method, run, used) for problem, run, used in ended]


def _require_lipschitz(problem: Problem) -> None:
    """Refuse an f without a Lipschitz constant: the search for a local one looks at numbers."""
    for name, block in zip(problem.names, problem.blocks, strict=True):
        if block.f is not None and block.f.lipschitz is None:
            raise AssumptionError(
                f"solve_batch: f of block {name!r}, {block.f!r}, states no Lipschitz constant; give it one, or "
                "call solve for each problem"
            )


class _Batch:
    """The states of all problems, stacked and moved on together."""

    def __init__(
        self, make_problem: Callable[[Any], Problem], parameters: Any, method: IPDS, states: list[State]
    ):
        jax = with_states()
        self.t = states[0].t
        leaves, tree, moving = parts(states[0])
        self._leaves, self._tree, self._moving = leaves, tree, moving
        flat = []
        for state in states:
            others, shape, _ = parts(state)
            if shape != tree or any(others[i] != leaf for i, leaf in enumerate(leaves) if i not in moving):
                raise ValueError("solve_batch: the problems differ in more than arrays and weights")
            flat.append([jax.numpy.asarray(in_dtype(others[i], state.z.dtype)) for i in moving])
        self._columns = [jax.numpy.stack(column) for column in zip(*flat, strict=True)]

        def one(count: Any, parameter: Any, *carried: Any) -> Any:
            return repeated(
                partial(method.step, make_problem(parameter)), tree, leaves, moving, count, *carried
            )

        def all_of_them(count: Any, *carried: Any) -> Any:
            return jax.vmap(one, in_axes=(None, 0, *(0 for _ in carried)))(count, parameters, *carried)

        self._program = compiled(all_of_them, [1, *self._columns])
        if self._program is None:
            jax.eval_shape(all_of_them, 1, *self._columns)  # says why it cannot be traced

    def to(self, t: int) -> None:
        """Every problem on to iteration t."""
        assert self._program is not None
        self._columns, self.t = list(self._program([t - self.t, *self._columns])), t

    def state(self, k: int) -> State:
        """Where problem k is."""
        jax, leaves = with_states(), list(self._leaves)
        for i, column in zip(self._moving, self._columns, strict=True):
            leaves[i] = column[k]
        numbers = {i: leaves[i] for i in self._moving if type(self._leaves[i]) in (float, int)}
        for i, value in jax.device_get(numbers).items():
            leaves[i] = type(self._leaves[i])(value)
        return jax.tree.unflatten(self._tree, leaves)
