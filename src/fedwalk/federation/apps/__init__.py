"""The two Flower apps: what a SuperNode and a SuperLink run."""
