"""Smooth terms with the sparse matrices that dense ones of few entries stand for."""

from __future__ import annotations

from ..functions import Quadratic, Smooth, SmoothSum, Weighted
from ..functions.losses import LinearModel
from ..functions.rescaling import with_parts
from .slack import thin


def thin_smooth(f: Smooth) -> Smooth:
    """f; where it is made of large dense matrices with few entries (`slack.thin`), with the sparse ones."""
    if isinstance(f, LinearModel):
        G = thin(f.G)
        return f if G is f.G else with_parts(f, G=G)
    if isinstance(f, Quadratic):
        Q = thin(f.Q)
        return f if Q is f.Q else with_parts(f, Q=Q)
    if isinstance(f, Weighted):
        inner = thin_smooth(f.f)
        return f if inner is f.f else Weighted(inner, f.weight, f.constant)
    if isinstance(f, SmoothSum):
        terms = [thin_smooth(term) for term in f.terms]
        return f if all(a is b for a, b in zip(terms, f.terms, strict=True)) else SmoothSum(terms)
    return f
