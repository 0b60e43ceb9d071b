"""The paper, step by step. Pure: no files, no sockets, no clocks, no printing."""
