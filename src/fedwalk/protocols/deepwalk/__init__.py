"""Protocol `deepwalk`: the centralised baseline. One party holds the whole graph, and nothing is sent."""
