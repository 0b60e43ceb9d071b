"""Graphs: the value type, readers for files and Python objects, datasets, and a generator."""

from fedwalk.graph.generate import social_network
from fedwalk.graph.graph import Cleaning, Graph, Labels
from fedwalk.graph.labels import load_labels
from fedwalk.graph.load import load_graph

__all__ = ["Cleaning", "Graph", "Labels", "load_graph", "load_labels", "social_network"]
