"""The server's part of a federated run: questions to the holders, stages, the walk phase, the run folder."""
