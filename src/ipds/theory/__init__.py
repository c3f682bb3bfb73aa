"""What is known of a problem and of a point: assumptions, theorems, potential, certificate and its scales.

Of a problem: `assumptions` is the report of `Problem.check`, from the `theorems` (as data), the `facts` they ask for
and the table of `methods`, with `floors` for whether it is bounded below; `potential`, `descent` and `bound` are the
theorem of Algorithm 1, evaluated. Of a point: `state` is what a method hands over, `objective` its value,
`certificate` judges it, with `rows`, `entries`, `summands`, `sizes`, `slopes` and `fixed` for what residuals are
compared with, `centres` for data far from 0, `taking` for what they cost, `hidden` for what small forces would gain and
`bases` for what is left of forces in any basis, and `zeros` makes zeros of rounding in rows 0 = 0; `proofs` shows that
a convex problem has no solution. `structure` says which block the equation can be solved for, and `bending` whether an
f that does not say so seems convex.
"""
