"""Experiments that put the paper's claims beside measurements."""
