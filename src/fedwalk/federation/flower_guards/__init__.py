"""All code that replaces or relies on Flower's internals.

Flower's processes leave things open that a federation must close: any local user may start a run, a server may ship any
code to a holder, a port accepts requests of any size. The modules here close them by replacing parts of Flower.
`hooks.py` lists every such part, and `hooks.install` replaces nothing else. If Flower has moved one of them, nothing
starts: a server or holder that lacks one of its guards looks safe and isn't.
"""
