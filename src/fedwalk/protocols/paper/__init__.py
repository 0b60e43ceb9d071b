"""Protocol `paper`: FedWalk as the paper describes it (KDD '22), step by step.

Algorithm 2: `group_plan` → `degree_vectors` → `dissimilarity` → `tree_builders` → `tree`, then `encoder`.
Algorithm 1: `device` and `server` pass `messages`, with `predictors`. `simulate` runs all of it in one process,
`federated` over holders. `protocol` is the value that the rest of fedwalk reads.
"""
