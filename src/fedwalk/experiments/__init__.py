"""Experiments that compare the paper's claims with measurements."""
