"""Loops of protocol `ldp`: drawing reports, and walks and paths over the graph that the server decodes."""
