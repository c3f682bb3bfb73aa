"""One iteration on NumPy, PyTorch and JAX: step by step and compiled, over sizes; where which one is the fastest.

    python benchmarks/backends.py [--write docs/backends.md] [--quick]

Sparse PCA of d features and r components. "IPDS" is Algorithm 1 (JAX: a compiled loop of whole steps); "accelerated" is
what `method="auto"` takes (JAX: compiled from one dual step to the next). The libraries take turns, and the best, least
disturbed round counts. Times are CPU seconds on one thread, so that other load on the machine disturbs little.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ipds import Block, Problem
from ipds.functions import L1, PCAVariance, Stiefel
from ipds.methods import IPDS, AcceleratedIPDS, Method
from ipds.solving.advance import Advance
from pages import where_and_when, write_section

SIZES = [(50, 3), (200, 8), (500, 20), (1000, 30), (2000, 50)]
METHODS = {"IPDS": IPDS("sound"), "accelerated": AcceleratedIPDS()}
CHUNK = 10
"""Iterations per call: the default of `check_every`."""


def libraries() -> dict[str, Callable[[np.ndarray], Any]]:
    """How each installed library makes a double-precision array."""
    found: dict[str, Callable[[np.ndarray], Any]] = {"NumPy": np.asarray}
    try:
        import torch

        torch.set_num_threads(1)
        found["PyTorch"] = torch.asarray
    except ImportError:
        print("PyTorch is not installed: left out")
    try:
        os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
        import jax

        jax.config.update("jax_enable_x64", True)
        found["JAX, step by step"] = found["JAX, compiled"] = jax.numpy.asarray
    except ImportError:
        print("JAX is not installed: left out")
    return found


class Contender:
    """A method on one library, ready to be timed over and over."""

    def __init__(self, make: Callable[[np.ndarray], Any], method: Method, d: int, r: int, compiled: bool):
        rng = np.random.default_rng(0)
        # as many samples as features: C = DᵀD is d×d, and the iteration is what is measured
        D, start = rng.standard_normal((d, d)), Stiefel().prox(rng.standard_normal((d, r)), 1.0)
        self.problem = Problem(
            [
                Block(f=PCAVariance(make(D)), h=Stiefel(), A=-1.0, shape=(d, r), name="Y"),
                Block(h=L1(0.05), A=1.0, shape=(d, r), name="V"),
            ]
        )
        self.method, self.compiled = method, compiled
        z0 = make(np.zeros((d, r)))
        self.setup, self.carry = method.init(self.problem, (make(start), make(start)), z0)
        self.advance = Advance(self.problem, method, self.setup, z0)
        begin = time.process_time()
        self._on()
        self._on()
        self.first = time.process_time() - begin
        self.times: list[float] = []

    def _on(self) -> None:
        """CHUNK iterations more."""
        carry = self.carry
        until = carry.t + CHUNK
        while carry.t < until:
            if self.compiled:
                carry, state = self.advance([carry], until)
            else:
                carry, state = self.method.step(self.setup, carry)
        if hasattr(state.z, "block_until_ready"):
            state.z.block_until_ready()
        self.carry = carry

    def round(self) -> None:
        begin = time.process_time()
        self._on()
        self.times.append((time.process_time() - begin) / CHUNK)

    @property
    def per_iteration(self) -> float:
        return min(self.times)


def measure(method: str, d: int, r: int, rounds: int) -> dict[str, Contender]:
    contenders = {}
    for name, make in libraries().items():
        if method == "accelerated" and name == "JAX, step by step":
            continue  # its steps are always compiled
        contenders[name] = Contender(make, METHODS[method], d, r, compiled=name == "JAX, compiled")
    for _ in range(rounds):
        for contender in contenders.values():
            contender.round()
    return contenders


def table(method: str, rows: list[tuple[tuple[int, int], dict[str, Contender]]]) -> str:
    names = list(rows[0][1])
    head = [
        "d x r",
        *names,
        "best next to NumPy",
        *(["first JAX call, s"] if "JAX, compiled" in names else []),
    ]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for (d, r), found in rows:
        times = {name: contender.per_iteration for name, contender in found.items()}
        best = min(times, key=times.__getitem__)
        gain = times["NumPy"] / times[best]
        cells = [f"{d} x {r}", *(f"{1e6 * t:.0f}" for t in times.values())]
        cells.append("NumPy" if best == "NumPy" else f"{best} {gain:.1f}x")
        if "JAX, compiled" in found:
            cells.append(f"{found['JAX, compiled'].first:.1f}")
        lines.append("| " + " | ".join(cells) + " |")
    return f"**{method}**, µs per iteration\n\n" + "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, help="page whose table is written anew")
    parser.add_argument("--quick", action="store_true", help="two sizes, few rounds")
    arguments = parser.parse_args()
    sizes, rounds = (SIZES[:3:2], 9) if arguments.quick else (SIZES, 15)
    texts = []
    for method in METHODS:
        texts.append(table(method, [((d, r), measure(method, d, r, rounds)) for d, r in sizes]))
        print(texts[-1], end="\n\n", flush=True)
    if arguments.write:
        write_section(arguments.write, "backends", "\n\n".join([*texts, where_and_when()]))


if __name__ == "__main__":
    main()
