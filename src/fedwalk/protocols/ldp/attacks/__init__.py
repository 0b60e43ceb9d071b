"""Attacks on protocol `ldp`: `guesses` reads the server's view, `repeats` asks one device often, `findings` scores."""
