"""The attack that every protocol allows: guessing edges from the published vectors."""

from collections.abc import Iterator

from fedwalk.audit.embedding import cosines, dot_products
from fedwalk.audit.evidence import public_view
from fedwalk.audit.finding import Finding
from fedwalk.audit.scoring import area_under_curve, sample_pairs
from fedwalk.graph import Graph
from fedwalk.kernels.threads import Report
from fedwalk.pipeline import Run


def links(graph: Graph, run: Run, _: Report) -> Iterator[Finding]:
    """How well closeness tells edges from other pairs."""
    view, protocol = public_view(run), run.settings.protocol
    edges, others = sample_pairs(graph, run.settings.seed)
    if len(others) == 0:
        said = "Every pair that was drawn is an edge: there is nothing to tell apart."
        yield Finding.of("close vectors", protocol, view, {}, {}, said)
        return
    degrees = [graph.degrees[pairs].prod(axis=1).astype(float) for pairs in (edges, others)]
    success = {
        "cosine_auc": area_under_curve(cosines(view, edges), cosines(view, others)),
        "dot_auc": area_under_curve(dot_products(view, edges), dot_products(view, others)),
    }
    said = (
        f"{len(edges):,} edges told from {len(others):,} other pairs by how close the vectors of their ends are; the "
        "product of the true degrees is given for comparison."
    )
    baseline = {"auc": 0.5, "degree_auc": area_under_curve(*degrees)}
    yield Finding.of("close vectors", protocol, view, success, baseline, said)
