"""The hierarchical clustering tree as a dendrogram of at most forty clusters.

A cut at one height would show the few hubs that joined last next to one cluster of all other vertices. Instead, the
largest cluster is split repeatedly until there are forty, so that the clusters have comparable sizes.
"""

import heapq
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from fedwalk.protocols.paper.tree import Tree
from fedwalk.report.charts import LETTER, WIDTH
from fedwalk.report.content import Absent, Figure, Section, Table
from fedwalk.report.source import LOST, Source
from fedwalk.report.svg import Scale, drawing, element, spanning
from fedwalk.util.text import counted, short_text

MAX_CLUSTERS = 40
ROW = 16.0
TOP = 24.0
MAX_NAME_LENGTH = 16
SKEWED = 3.0
"""If the root is higher than this multiple of the median height, heights are drawn on a square-root scale."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A node that is drawn without its descendants: its height, the number of its vertices, and its label."""

    node: int
    height: float
    leaves: int
    text: str
    degree: str


def tree_section(source: Source) -> Section:
    """The section on the tree."""
    key, title = "tree", "Tree"
    if source.tree is None:
        return Section(key, title, absent=(Absent(f"The protocol {source.protocol} builds no tree."),))
    clusters = [_describe(source, source.tree, node) for node in open_largest(source.tree)]
    head = ("cluster", "vertices", "height", *(("median degree",) if source.graph else ()))
    rows = tuple(
        (str(i), f"{c.leaves:,}", f"{c.height:,.1f}", *((c.degree,) if source.graph else ()))
        for i, c in enumerate(clusters, 1)
    )
    text = "Similar clusters join first; the further to the left two clusters join, the more they differ."
    if len(clusters) < source.tree.leaves:
        text += f" Of {source.tree.leaves:,} leaves, the largest clusters were split until there were {len(clusters)};"
        text += " each wedge is a cluster that wasn't split further."
    if lost := int(np.count_nonzero(source.leaves == LOST)):
        text += f" {counted(lost, 'leaf is a vertex', 'leaves are vertices')} lost during the walks."
    label = "the number of its vertices" + (" and their median degree" if source.graph else "")
    caption = f"Dissimilarity at which clusters join; next to each cluster, {label}."
    figure = Figure(draw(source.tree, clusters), caption)
    return Section(key, title, (text,), (figure,), Table(head, rows))


def open_largest(tree: Tree, max_clusters: int = MAX_CLUSTERS) -> list[int]:
    """The nodes to draw as clusters, in the order of their leaves: the largest is split until there are enough.

    >>> open_largest(Tree(np.array([[0, 1, 1.0, 2], [2, 4, 2.0, 3], [3, 5, 3.0, 4]])), 3)
    [3, 2, 4]
    """
    n = tree.leaves
    # A heap with the largest cluster first, which begins with the root alone.
    closed = [(-n, 2 * n - 2)]
    while len(closed) < min(max_clusters, n):
        _, node = heapq.heappop(closed)
        for child in tree.linkage[node - n, :2].astype(int).tolist():
            heapq.heappush(closed, (-int(tree.size[child]), child))
    return sorted((node for _, node in closed), key=lambda node: int(tree.first[node]))


def draw(tree: Tree, clusters: list[Cluster]) -> Markup:
    """Draw the tree with the root at the left and one cluster per row at the right."""
    right = WIDTH - max(len(cluster.text) for cluster in clusters) * LETTER - 10
    bottom = TOP + len(clusters) * ROW
    shown = _ancestors(tree, clusters)
    scale = _height_scale(tree.linkage[[node - tree.leaves for node in shown], 2], right)
    rows = {cluster.node: TOP + (i + 0.5) * ROW for i, cluster in enumerate(clusters)}
    content = _height_axis(scale, bottom)
    for cluster in clusters:
        content += _closed(cluster, rows[cluster.node], scale, right)
    heights = {cluster.node: cluster.height for cluster in clusters}
    for node in shown:
        left, end = tree.linkage[node - tree.leaves, :2].astype(int).tolist()
        heights[node] = float(tree.linkage[node - tree.leaves, 2])
        corner = scale(heights[node])
        points = (
            (scale(heights[left]), rows[left]),
            (corner, rows[left]),
            (corner, rows[end]),
            (scale(heights[end]), rows[end]),
        )
        content.append(element("polyline", class_="branch", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points)))
        rows[node] = (rows[left] + rows[end]) / 2
    description = f"{tree.leaves:,} vertices in {len(clusters)} clusters: " + ", ".join(c.text for c in clusters) + "."
    return drawing("Dendrogram", description, WIDTH, bottom + 6, *content)


def _describe(source: Source, tree: Tree, node: int) -> Cluster:
    """The cluster of a node. Its label is the name of a single vertex or else their number, with the median degree."""
    first, size = int(tree.first[node]), int(tree.size[node])
    rows = source.leaves[tree.order[first : first + size]]
    height = 0.0 if size == 1 else float(tree.linkage[node - tree.leaves, 2])
    # A run with lost vertices has no graph: only a federation loses vertices.
    degree = f"{np.median(source.graph.degrees[rows]):,.0f}" if source.graph else ""
    text = _vertex_text(source, int(rows[0])) if size == 1 else f"{size:,}"
    return Cluster(node, height, size, f"{text} · degree {degree}" if degree else text, degree)


def _vertex_text(source: Source, row: int) -> str:
    """The label of a cluster of one vertex: its name, shortened."""
    if row == LOST:
        return "lost vertex"
    name = str(source.embedding.nodes[row])
    return f"vertex {name if len(name) <= MAX_NAME_LENGTH else f'{name[: MAX_NAME_LENGTH - 1]}…'}"


def _ancestors(tree: Tree, clusters: list[Cluster]) -> list[int]:
    """All nodes above the clusters, children before parents: in a linkage array a parent has the higher number."""
    above: set[int] = set()
    for cluster in clusters:
        node = int(tree.parent[cluster.node])
        while node >= 0 and node not in above:
            above.add(node)
            node = int(tree.parent[node])
    return sorted(above)


def _height_scale(heights: NDArray[np.float64], right: float) -> Scale:
    """A scale with zero at the right; by square roots if the root is much higher than the rest."""
    skewed = float(heights.max()) > SKEWED * float(np.median(heights))
    return spanning(heights.tolist(), right, 12.0, "sqrt" if skewed else "linear")


def _height_axis(scale: Scale, bottom: float) -> list[Markup]:
    """Ticks above the tree. On a square-root scale, labels that would overlap are left out."""
    content, last = [], np.inf
    for value in scale.ticks():
        place = scale(value)
        content.append(element("line", class_="grid", x1=place, x2=place, y1=TOP - 4, y2=bottom))
        if last - place > 34:
            content.append(element("text", short_text(value), class_="tick middle", x=place, y=TOP - 9))
            last = place
    return content


def _closed(cluster: Cluster, row: float, scale: Scale, right: float) -> list[Markup]:
    """A wedge from the cluster's height to zero, and its label."""
    tip, half = scale(cluster.height), ROW / 2 - 2
    text = element("text", cluster.text, class_="name", x=right + 6, y=row + 4)
    if tip >= right:
        return [text]
    wedge = f"{tip:.1f},{row:.1f} {right:.1f},{row - half:.1f} {right:.1f},{row + half:.1f}"
    return [element("polygon", class_="wedge", points=wedge), text]
