"""Real federations: a server and holders on separate machines, which don't have to trust each other.

A holder keeps the neighbour lists of one or more devices. Questions of the server and answers of the holders (vectors,
matrices, finished walks, reports) are sent over Flower. The hops of walks go directly from holder to holder, over gRPC
with mutual TLS, and never through the server, which would see the edges.
"""
