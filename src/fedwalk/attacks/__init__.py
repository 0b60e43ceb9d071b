"""What the attacks on all protocols share: findings, scores, canaries, and bounds on ε.

An attack takes a view, which is what one observer received, and guesses. Guesses are scored against the true graph
here. The attacks on each protocol, and its views, are in `protocols/<name>/attacks/`; `fedwalk.audit` runs them.
"""
