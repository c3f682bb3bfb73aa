"""The only loop, and what surrounds it: start, stop, options, batch, multistart, checkpoint, progress.

`solve` is the whole of it: `options` are checked, a start is taken or made (`starting`, `inventing`, `relaxing`), a
`call` tries one method after another, and `loop` runs a method, with `advance` from check to check, `run` for what is
carried along, `stopping`, `history`, `watch` and `progress`. `checkpoint` (with `saved`, `fingerprint`, `lock`) lets
a solve go on after a kill. Where one start is not enough (`minima`), `restarts` (with `starts`, what they came to)
looks for better minima by `kicks`, `flips`, `walks`, `cuts`, `switching` (of `pieces`), `corners` (on their `ground`),
`exact_fits` and `programs`; `multistart` and `batch` solve many problems, and `remarks` says what a user should know
beside the status.
"""
