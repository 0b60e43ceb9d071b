"""From a graph to vectors: as in the paper, and with a proved guarantee. Run: python examples/python_api.py"""

import fedwalk

graph = fedwalk.social_network(vertices=300, mean_degree=12, communities=4, seed=0)

# FedWalk as the paper describes it. Its epsilon is nominal: a noise scale, no guarantee.
paper = fedwalk.FedWalk(epsilon=2, num_walks=20, dim=32, seed=0)
vectors = paper.fit_transform(graph)
print(paper, "->", vectors.vectors.shape, f"{paper.walks_.hops_per_walk:.1f} hops per walk")

# The same graph under protocol ldp: epsilon is the proved total per edge of the whole run.
private = fedwalk.FedWalk(protocol="ldp", epsilon=6, dim=32, seed=0)
private.fit(graph)
print(private, "->", f"epsilon per edge: {private.ledger_.per_edge:g}")

# Every stage's value is at hand, and how many messages each phase took.
for phase, traffic in paper.transcript_.traffic.items():
    print(f"  {phase:<10} {traffic.count:>7,} messages {traffic.bytes:>12,} bytes  {traffic.route}")

# How well the vectors predict the generated communities.
(score,) = fedwalk.evaluate(vectors, graph, train_ratios=[0.5])
print(f"micro-F1 with half of the labels: {score.micro_f1:.2f}")
