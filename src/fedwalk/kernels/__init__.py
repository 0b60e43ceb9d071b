"""Numba kernels on flat arrays: one kernel, one job, no policy."""
