"""A holder's side of the questions: its owner's terms, its neighbour lists, its answers, and the answer store."""
