"""Certified nonconvex, nonsmooth, linearly constrained optimisation by IPDS-ADMM."""
