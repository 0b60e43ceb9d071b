"""Fuzz every decoder of a federation: a damaged input must be accepted or refused with a FedWalkError.

    python benchmarks/fuzz.py --inputs 1000000 --seed 0 --state fuzz.json [--only NAME …] [--minutes 60]

Runs on all cores and alternates between the decoders (`fuzz_decoders.table`). Progress is stored in FILE (`--state`),
so the same command continues where it stopped. An input that raises any other error is a bug: it is written to the
folder FILE.crashes with its traceback, and the exit code is 1 until that folder is deleted. A table goes to standard
output.
"""

import argparse
import hashlib
import json
import os
import signal
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random

from common import machine
from common import table as markdown
from fuzz_decoders import Decoder, table
from fuzz_mutations import spoiled

from fedwalk.errors import FedWalkError
from fedwalk.run.folder import write_text

CHUNK = 1000
"""Inputs per task."""
SLOW = 2.0
"""Seconds: an input that takes longer is stored as if it had crashed."""
MAX_CRASHES = 20
"""Crashes that are stored per decoder."""
SAVE_EVERY = 5.0
"""Seconds between two writes of the state."""


@dataclass
class Tally:
    """The results of a decoder's inputs. Seconds are processor time, so other processes don't count."""

    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    crashes: list[tuple[bytes, str]] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        """Add the counts of another tally."""
        self.inputs, self.accepted = self.inputs + other.inputs, self.accepted + other.accepted
        self.refused, self.seconds = self.refused + other.refused, self.seconds + other.seconds
        self.slowest = max(self.slowest, other.slowest)
        self.crashes += other.crashes

    def as_dict(self) -> dict[str, float]:
        """The counts for the state file; crashes are stored in separate files."""
        return {
            "inputs": self.inputs, "accepted": self.accepted, "refused": self.refused, "seconds": self.seconds,
            "slowest": self.slowest,
        }  # fmt: skip


@cache
def decoders() -> dict[str, Decoder]:
    """The table of decoders, made once per process."""
    return table()


def try_inputs(decoder: Decoder, random: Random, inputs: int) -> Tally:
    """Generate and decode this many damaged inputs."""
    tally = Tally()
    refusals: tuple[type[Exception], ...] = (FedWalkError, *decoder.may_raise)
    began = time.thread_time()
    for _ in range(inputs):
        data = spoiled(decoder.recipe, random)
        start = time.thread_time()
        try:
            decoder.decode(data)
            tally.accepted += 1
        except refusals:
            tally.refused += 1
        except BaseException as error:  # parsers written in Rust raise one when they panic
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            tally.crashes.append((data, traceback.format_exc()))
        seconds = time.thread_time() - start
        tally.slowest = max(tally.slowest, seconds)
        if seconds > SLOW:
            tally.crashes.append((data, f"took {seconds:.1f} s"))
    tally.inputs, tally.seconds = inputs, time.thread_time() - began
    return tally


def do_task(task: tuple[str, int, int, int]) -> tuple[str, Tally]:
    """Run one chunk of one decoder in a worker process. Its inputs depend only on seed, name and position."""
    name, seed, start, inputs = task
    return name, try_inputs(decoders()[name], Random(f"{seed} {name} {start}"), inputs)


class State:
    """The progress of each decoder, in a file that is replaced atomically."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path, self.seed = path, seed
        self.tallies = {name: Tally() for name in decoders()}
        self._saved = time.monotonic()
        if path.exists():
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["seed"] != seed:
                sys.exit(
                    f"{path}: was made with --seed {content['seed']}. Choose another --state file, or use that seed."
                )
            known = {name: tally for name, tally in content["decoders"].items() if name in self.tallies}
            self.tallies |= {name: Tally(**tally) for name, tally in known.items()}

    @property
    def crashes(self) -> Path:
        """The folder of inputs that crashed."""
        return self.path.with_name(self.path.name + ".crashes")

    def add(self, name: str, tally: Tally) -> None:
        """Add a finished chunk, and store its crashes."""
        for data, why in tally.crashes:
            self._keep(name, data, why)
        tally.crashes = []
        self.tallies[name].add(tally)
        if time.monotonic() > self._saved + SAVE_EVERY:
            self.save()

    def _keep(self, name: str, data: bytes, why: str) -> None:
        self.crashes.mkdir(exist_ok=True)
        stem = name.replace(" ", "-").replace("'", "")
        if len(list(self.crashes.glob(f"{stem}-*.txt"))) < MAX_CRASHES:
            path = self.crashes / f"{stem}-{hashlib.sha256(data).hexdigest()[:12]}"
            path.write_bytes(data)
            path.with_name(path.name + ".txt").write_text(why, encoding="utf-8", errors="backslashreplace")
            print(f"{name}: {why.strip().splitlines()[-1][:200]} ({path})", file=sys.stderr, flush=True)

    def save(self) -> None:
        """Write the state file."""
        content = {"seed": self.seed, "decoders": {name: tally.as_dict() for name, tally in self.tallies.items()}}
        write_text(self.path, json.dumps(content, indent=1))
        self._saved = time.monotonic()


def tasks(state: State, names: list[str], inputs: int) -> list[tuple[str, int, int, int]]:
    """The remaining chunks, alternating between decoders, so that a run stopped early has tested all equally."""
    places = sorted({start for name in names for start in range(state.tallies[name].inputs, inputs, CHUNK)})
    return [
        (name, state.seed, start, min(CHUNK, inputs - start))
        for start in places
        for name in names
        if start >= state.tallies[name].inputs and (start - state.tallies[name].inputs) % CHUNK == 0
    ]


def run(state: State, names: list[str], inputs: int, seconds: float) -> None:
    """Run the remaining chunks until all are done or the time is up."""
    end, told = time.monotonic() + seconds, 0.0
    left = tasks(state, names, inputs)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        try:
            for done, (name, tally) in enumerate(pool.map(do_task, left), 1):
                state.add(name, tally)
                if time.monotonic() > told + 10:
                    told = time.monotonic()
                    print(f"  {done:,} of {len(left):,} chunks", file=sys.stderr, flush=True)
                if time.monotonic() > end:
                    break
        except KeyboardInterrupt:
            print("stopped; the same command continues from here", file=sys.stderr)
        finally:
            pool.shutdown(cancel_futures=True)
            state.save()


def result_table(state: State, names: list[str]) -> str:
    """The table of results."""
    rows = [
        [name, f"{t.inputs:,}", f"{t.accepted:,}", f"{t.refused:,}", f"{t.inputs - t.accepted - t.refused:,}",
         f"{t.inputs / max(t.seconds, 1e-9):,.0f}", f"{1000 * t.slowest:,.0f}"]
        for name in names if (t := state.tallies[name]).inputs
    ]  # fmt: skip
    return markdown(["decoder", "inputs", "accepted", "refused", "crashed", "inputs/s", "slowest, ms"], rows)


def main() -> None:
    """Fuzz and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=1_000_000, help="number of inputs per decoder, over all runs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--state", type=Path, default=Path("fuzz.json"), metavar="FILE", help="progress, for resuming")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=sorted(decoders()), help="only these decoders")
    parser.add_argument("--minutes", type=float, default=1e6, help="stop after this many minutes")
    options = parser.parse_args()
    names = options.only or list(decoders())
    state = State(options.state, options.seed)
    for number in (signal.SIGINT, signal.SIGTERM):  # shells start background commands with SIGINT ignored
        signal.signal(number, signal.default_int_handler)
    run(state, names, options.inputs, 60 * options.minutes)
    print(result_table(state, names), f"\n{machine()}", sep="\n")
    sys.exit(1 if state.crashes.exists() else 0)


if __name__ == "__main__":
    main()
