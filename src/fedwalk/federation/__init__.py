"""A real federation: holders on machines of their own, who trust neither each other nor the server.

A holder keeps the neighbour lists of one or more devices. Flower carries what passes between server and holders (plan,
vectors, matrices, tree, finished sequences, lists); hops go from holder to holder directly, by gRPC with mutual TLS,
and never through the server, which would see the edges.
"""
