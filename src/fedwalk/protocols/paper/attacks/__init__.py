"""Attacks on protocol `paper`: `evidence` makes the observers' `views`, `guesses` reads them, `findings` scores."""
