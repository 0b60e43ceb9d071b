"""Runs a sweep: every combination with every seed as a cached trial, then the files.

DIR/trials holds a file for each finished trial, so an interrupted sweep continues where it stopped, and a sweep with
one more value runs only the new trials.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from fedwalk import __version__
from fedwalk.errors import RunFolderError
from fedwalk.experiments.plots import draw
from fedwalk.experiments.publish import Edition, as_csv, as_page
from fedwalk.experiments.settings_sweep.definition import PAGE, RECORD, Sweep, proved_epsilon
from fedwalk.experiments.settings_sweep.present import PREFIX, present
from fedwalk.experiments.settings_sweep.results import Row, SweepResults, numbers_of
from fedwalk.experiments.trials import Trials, labels_digest
from fedwalk.privacy.ledger import or_unbounded
from fedwalk.run.folder import write_text
from fedwalk.util.files import try_lock, write_failure
from fedwalk.util.parallel import Progress, silent

TRIALS = "trials"
"""The subfolder with the finished trials, and with the lock of the sweep that is running."""


@contextmanager
def reserved(folder: Path) -> Iterator[None]:
    """Lock the folder for the block; RunFolderError if another sweep is running there.

    Two sweeps at once would compute the same trials, and the tables could be a mixture of both.
    """
    with ExitStack() as stack:
        try:
            (folder / TRIALS).mkdir(parents=True, exist_ok=True)
            free = stack.enter_context(try_lock(folder / TRIALS / "lock"))
        except OSError as error:
            raise write_failure(folder / TRIALS, error, "Name another folder.") from error
        if not free:
            raise RunFolderError(f"{folder}: another sweep is running there. Wait for its end, or name another folder.")
        yield


def run_sweep(sweep: Sweep, folder: Path, on_progress: Progress = silent) -> SweepResults:
    """Run the trials that aren't on disk yet, and return the results of all of them."""
    measured = Trials(sweep.setup, folder / TRIALS).measure(sweep.trials(), on_progress)
    rows = []
    for combination in sweep.combinations:
        epsilon = proved_epsilon(sweep.setup.graph, combination.settings)
        for seed in sweep.seeds:
            trial = sweep.trial(combination, seed)
            numbers = numbers_of(measured[trial.settings, trial.held_out], combination, sweep.measures)
            rows.append(Row(combination, seed, epsilon, numbers))
    return SweepResults(sweep.varied, sweep.measures, rows)


def count_missing(sweep: Sweep, folder: Path) -> int:
    """How many trials aren't on disk yet."""
    return Trials(sweep.setup, folder / TRIALS).count_missing(sweep.trials())


def publish_sweep(
    sweep: Sweep, results: SweepResults, folder: Path, *, command: str, figures: bool = True
) -> dict[str, Any]:
    """Write results.csv, summary.csv, the figures, index.html and sweep.json; returns what sweep.json contains."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "results.csv", as_csv(*results.csv_rows()))
    write_text(folder / "summary.csv", as_csv(*results.csv_summary()))
    outcomes = present(results, sweep.note)
    # Figures of an earlier sweep with other settings would be mistaken for these.
    for old in (folder / "figures").glob(f"{PREFIX}*"):
        old.unlink()
    for outcome in outcomes if figures else ():
        for chart in outcome.charts:
            draw(chart, folder / "figures")
    record = as_record(sweep, results, command)
    # Before the page, which `check_folder` accepts only with its record.
    write_text(folder / RECORD, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    edition = Edition(sweep.setup, outcomes, command, date.today())
    write_text(folder / PAGE, as_page(edition, folder if figures else None))
    return record


def as_record(sweep: Sweep, results: SweepResults, command: str) -> dict[str, Any]:
    """The sweep for programs: what ran, how it was scored, and every trial."""
    graph, setup = sweep.setup.graph, sweep.setup
    return {
        "fedwalk": __version__,
        "command": command,
        "date": date.today().isoformat(),
        "graph": {
            "title": setup.title, "vertices": graph.vertices, "edges": graph.edges,
            "fingerprint": graph.fingerprint(), "labels": labels_digest(graph),
        },
        "score": sweep.score,
        "evaluation": _evaluation(sweep),
        "varied": {one.name: list(one.values) for one in sweep.varied},
        "seeds": list(sweep.seeds),
        "trials": [
            {
                "settings": replace(row.combination.settings, seed=row.seed).as_dict(),
                "varied": row.combination.values,
                "proved_epsilon": or_unbounded(row.proved_epsilon),
                "numbers": row.numbers,
            }
            for row in results.rows
        ],
    }  # fmt: skip


def _evaluation(sweep: Sweep) -> dict[str, Any]:
    """The settings of the evaluation that was used."""
    setup = sweep.setup
    used: dict[str, dict[str, Any]] = {
        "labels": {"train_ratios": sorted(setup.ratios), "splits": setup.splits, "rule": setup.rule},
        "links": {"held_out": sweep.held_out},
        "none": {},
    }
    return used[sweep.score]
