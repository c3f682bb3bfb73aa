"""Nothing here talks to a network: not on import, not in a solve, not in a fit, not on the command line."""

import subprocess
import sys

SCRIPT = """
import socket, sys

def refuse(*args, **kwargs):
    raise AssertionError(f"network access: {args}")

for name in ("connect", "connect_ex", "bind", "sendto"):
    setattr(socket.socket, name, refuse)
for name in ("getaddrinfo", "gethostbyname", "create_connection"):
    setattr(socket, name, refuse)

def audit(event, args):
    if event.startswith(("socket.connect", "socket.bind", "socket.getaddrinfo", "urllib.Request", "http.client")):
        raise AssertionError(f"network access: {event} {args}")

sys.addaudithook(audit)
import numpy as np
import ipds, ipds.cli, ipds.experiments.datasets, ipds.functions, ipds.methods, ipds.models, ipds.operators
from ipds import Block, Problem, solve
from ipds.functions import L1

g = np.random.default_rng(0)
problem = Problem([Block(h=L1(0.3), A=g.standard_normal((6, 4)), shape=4), Block(h=L1(1.0), shape=6)], b=np.ones(6))
problem.check()
for method in ("auto", "ipds", "radmm", "spgm", "subgradient"):
    solve(problem, method=method, max_iter=5)
X, y = g.standard_normal((12, 4)), g.standard_normal(12)
ipds.models.SparsePCA(n_components=2, alpha=0.1).fit(X)
ipds.models.RobustSparseRegressor(sparsity=2).fit(X, y)
ipds.models.FusedLasso(alpha=0.1).fit(X, y)
ipds.models.DualPCP(n_codimensions=1).fit(X)
ipds.models.RobustLowRank(rank=1).fit(X)
try:
    socket.create_connection(("localhost", 9))
except AssertionError:
    print("quiet")
"""


def test_no_network_access():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "quiet"
