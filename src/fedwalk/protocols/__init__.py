"""Protocols: how neighbour lists become vectors. Pure: no files, sockets, clocks or printing.

`base` says what a protocol is, `registry` which there are, and each has a folder: `paper`, `ldp`, `deepwalk`.
"""
