"""The only loop, and what surrounds it: start, stop, options, batch, multistart, checkpoint, progress."""
