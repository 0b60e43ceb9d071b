"""Everything of ours that reaches into Flower: what its processes leave open is closed here, and nowhere else.

A hook replaces something of Flower's by name (`hooks.replace`). Where the name is gone Flower has changed, and nothing
starts: a server or holder that is half guarded would be worse than none.
"""
