"""Solvers of the batch methods, a file each: from a `Problem` to a `Solution`."""
