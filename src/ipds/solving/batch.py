"""Many problems of one shape at once: a path of weights, many seeds, many data sets, in one compiled loop of JAX."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._arrays import Array, is_jax
from .._arrays.compiling import compiled, in_dtype, is_moving, repeated
from ..errors import AssumptionError
from ..methods import IPDS, State
from ..presolve import as_stated
from ..problem import Problem
from ..status import Status
from ..theory.state import known_to_jax
from .loop import result_of
from .options import Options, check_options, check_problem, check_seed
from .run import Look, Run
from .starting import Start
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
    jax, method = importlib.import_module("jax"), method or IPDS("practical")
    if not isinstance(method, IPDS):
        raise TypeError(f"solve_batch: method must be an IPDS object, got {method!r}")
    count = _count(jax.tree.leaves(parameters), {"x0": x0, "seeds": seeds})
    for seed in seeds if seeds is not None else ():
        check_seed(seed, "solve_batch: every entry of seeds")
    if count == 0:
        return []
    options, clock = Options(max_iter, tol, None, None, False, check_every), Stopwatch()
    problems, runs, begun = [], [], []
    for k in range(count):
        problem = make_problem(jax.tree.map(lambda a, k=k: a[k], parameters))
        check_problem(problem)
        _require_lipschitz(problem)
        start = Start(problem, None if x0 is None else x0[k], None, None if seeds is None else seeds[k])
        x, z = jax.tree.map(jax.numpy.asarray, start.take())
        problems.append(problem)
        runs.append(Run.begin(problem, x, z, may_smooth=False))
        begun.append(method.init(problem, x, z))
    batch = _Batch(make_problem, parameters, method, begun)
    while any(run.status is None for run in runs):
        batch.to(options.next_check(batch.t))
        for k, (problem, run) in enumerate(zip(problems, runs, strict=True)):
            if run.status is None:
                state = batch.state(k)
                run.check(problem, Look(problem, state), options, clock)
                if run.status not in (None, Status.DIVERGED):
                    run.finish(state)
    used = [method.parameters_of(setup) for setup, _ in begun]
    stated = [as_stated(problem, f"{method.name} takes it so") for problem in problems]
    return [result_of(*found, tol) for found in zip(stated, [method] * len(runs), runs, used, strict=True)]


def _count(leaves: list[Any], others: dict[str, Sequence[Any] | None]) -> int:
    """How many problems there are; errors name what does not fit."""
    if not leaves or not all(is_jax(leaf) and leaf.ndim for leaf in leaves):
        raise TypeError("solve_batch: parameters must be JAX arrays whose first axis counts the problems")
    counts = [int(leaf.shape[0]) for leaf in leaves]
    if len(set(counts)) > 1:
        raise ValueError(f"solve_batch: parameters must agree in their first axis, got {counts}")
    for name, given in others.items():
        if given is not None and len(given) != counts[0]:
            raise ValueError(f"solve_batch: {name} has {len(given)} entries for {counts[0]} problems")
    return counts[0]


def _require_lipschitz(problem: Problem) -> None:
    """Refuse an f without a Lipschitz constant: the search for a local one looks at numbers."""
    for name, block in zip(problem.names, problem.blocks, strict=True):
        if block.f is not None and block.f.lipschitz is None:
            raise AssumptionError(
                f"solve_batch: f of block {name!r}, {block.f!r}, states no Lipschitz constant; give it one, or "
                "call solve for each problem"
            )


class _Batch:
    """The carries of all problems, stacked and moved on together."""

    def __init__(
        self,
        make_problem: Callable[[Any], Problem],
        parameters: Any,
        method: IPDS,
        begun: list[tuple[Any, Any]],
    ):
        self._jax, self.t = importlib.import_module("jax"), 0
        known_to_jax()
        tree = self._jax.tree
        first, shape = tree.flatten(begun[0])
        moving = [i for i, leaf in enumerate(first) if is_moving(leaf)]
        dtype = begun[0][1].z.dtype
        flat = []
        for pair in begun:
            leaves, other = tree.flatten(pair)
            fixed = [(a, leaves[i]) for i, a in enumerate(first) if i not in moving]
            if other != shape or any(a != b for a, b in fixed if not isinstance(a, Problem)):
                raise ValueError("solve_batch: the problems differ in more than arrays and weights")
            flat.append([self._jax.numpy.asarray(in_dtype(leaves[i], dtype)) for i in moving])
        self._columns = [self._jax.numpy.stack(column) for column in zip(*flat, strict=True)]
        self._state: Any = None

        def one(count: Any, parameter: Any, *moved: Any) -> Any:
            given = dict(zip(moving, moved, strict=True))
            setup, carry = tree.unflatten(shape, [given.get(i, leaf) for i, leaf in enumerate(first)])
            setup = setup._replace(problem=make_problem(parameter))
            carry = repeated(lambda carry: method.step(setup, carry)[0], carry, count - 1)
            carry, state = method.step(setup, carry)
            found, asarray = tree.leaves((setup, carry)), self._jax.numpy.asarray
            return [asarray(found[i], dtype=old.dtype) for i, old in given.items()], state

        def all_of_them(count: Any, *moved: Any) -> Any:
            return self._jax.vmap(one, in_axes=(None, 0, *(0 for _ in moved)))(count, parameters, *moved)

        self._program = compiled(all_of_them, [1, *self._columns], dtype)
        if self._program is None:
            self._jax.eval_shape(all_of_them, 1, *self._columns)  # says why it cannot be traced

    def to(self, t: int) -> None:
        """Every problem on to iteration t."""
        assert self._program is not None
        self._columns, self._state = self._program([t - self.t, *self._columns])
        self.t = t

    def state(self, k: int) -> State:
        """Where problem k is."""
        leaves, shape = self._jax.tree.flatten(self._state)
        numbers = {i: leaf[k] for i, leaf in enumerate(leaves) if leaf.ndim == 1}
        found = self._jax.device_get(numbers)
        return self._jax.tree.unflatten(
            shape, [found[i].item() if i in found else leaf[k] for i, leaf in enumerate(leaves)]
        )
