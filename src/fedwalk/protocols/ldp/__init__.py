"""Protocol `ldp`: ε-edge local differential privacy for the whole run, proved in PROOFS.md.

Devices: `mechanism` → `device` → `messages`. Server: `reports` → `degree_estimate` → `edge_prior` → `edge_posterior` →
`posterior_power`, then an embedding of the weighted graph. `protocol` is the value that the rest of fedwalk reads.
"""
