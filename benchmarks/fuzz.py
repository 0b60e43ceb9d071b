"""Spoiled inputs for every decoder of a federation: each is accepted or refused with an error of ours, or is a bug.

    python benchmarks/fuzz.py --inputs 1000000 --seed 0 --state fuzz.json [--only NAME …] [--minutes 60]

Runs on all cores and takes turns among the decoders (`fuzz_decoders.table`). Progress is kept in FILE, so that the same
command goes on where it stopped. An input that raises anything else is written to the folder FILE.crashes with its
traceback, and the exit code is 1 until that folder is deleted. The table at the end goes to standard output.
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
from fedwalk.run_folder import write_text

CHUNK = 1000
"""Inputs of one task."""
SLOW = 2.0
"""Seconds: an input that takes longer is kept as if it had crashed."""
MAX_CRASHES = 20
"""Of one decoder that are kept."""
SAVE_EVERY = 5.0
"""Seconds between two writes of the state."""


@dataclass
class Tally:
    """What became of a decoder's inputs. Seconds are those of the processor, whatever else it does meanwhile."""

    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    crashes: list[tuple[bytes, str]] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        """Count another tally's inputs too."""
        self.inputs, self.accepted = self.inputs + other.inputs, self.accepted + other.accepted
        self.refused, self.seconds = self.refused + other.refused, self.seconds + other.seconds
        self.slowest = max(self.slowest, other.slowest)
        self.crashes += other.crashes

    def as_dict(self) -> dict[str, float]:
        """For the state; crashes have files of their own."""
        return {
            "inputs": self.inputs, "accepted": self.accepted, "refused": self.refused, "seconds": self.seconds,
            "slowest": self.slowest,
        }  # fmt: skip


@cache
def decoders() -> dict[str, Decoder]:
    """The table, made once in each process."""
    return table()


def try_inputs(decoder: Decoder, random: Random, inputs: int) -> Tally:
    """Spoil so many inputs and decode them."""
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
        except BaseException as error:  # a parser in Rust panics with one
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
    """One chunk of one decoder, in a worker. Its inputs depend on seed, name and place alone."""
    name, seed, start, inputs = task
    return name, try_inputs(decoders()[name], Random(f"{seed} {name} {start}"), inputs)


class State:
    """How far each decoder is, in a file that is whole at any time."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path, self.seed = path, seed
        self.tallies = {name: Tally() for name in decoders()}
        self._saved = time.monotonic()
        if path.exists():
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["seed"] != seed:
                sys.exit(f"{path}: is of seed {content['seed']}. Name another file, or give that seed.")
            known = {name: tally for name, tally in content["decoders"].items() if name in self.tallies}
            self.tallies |= {name: Tally(**tally) for name, tally in known.items()}

    @property
    def crashes(self) -> Path:
        """The folder of inputs that crashed."""
        return self.path.with_name(self.path.name + ".crashes")

    def add(self, name: str, tally: Tally) -> None:
        """Count a finished chunk, and keep its crashes."""
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
        """Write it down."""
        content = {"seed": self.seed, "decoders": {name: tally.as_dict() for name, tally in self.tallies.items()}}
        write_text(self.path, json.dumps(content, indent=1))
        self._saved = time.monotonic()


def tasks(state: State, names: list[str], inputs: int) -> list[tuple[str, int, int, int]]:
    """What is left to do, in turns: a run that is stopped early has come as far with each."""
    places = sorted({start for name in names for start in range(state.tallies[name].inputs, inputs, CHUNK)})
    return [
        (name, state.seed, start, min(CHUNK, inputs - start))
        for start in places
        for name in names
        if start >= state.tallies[name].inputs and (start - state.tallies[name].inputs) % CHUNK == 0
    ]


def run(state: State, names: list[str], inputs: int, seconds: float) -> None:
    """Do what is left until it is done, or the time is over."""
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
            print("stopped; the same command goes on from here", file=sys.stderr)
        finally:
            pool.shutdown(cancel_futures=True)
            state.save()


def report(state: State, names: list[str]) -> str:
    """The table of what became of all inputs."""
    rows = [
        [name, f"{t.inputs:,}", f"{t.accepted:,}", f"{t.refused:,}", f"{t.inputs - t.accepted - t.refused:,}",
         f"{t.inputs / max(t.seconds, 1e-9):,.0f}", f"{1000 * t.slowest:,.0f}"]
        for name in names if (t := state.tallies[name]).inputs
    ]  # fmt: skip
    return markdown(["decoder", "inputs", "accepted", "refused", "crashed", "inputs/s", "slowest, ms"], rows)


def main() -> None:
    """Fuzz, and say how it went."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=1_000_000, help="of each decoder, all runs together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--state", type=Path, default=Path("fuzz.json"), metavar="FILE", help="progress, for resuming")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=sorted(decoders()), help="these decoders alone")
    parser.add_argument("--minutes", type=float, default=1e6, help="stop after so long")
    options = parser.parse_args()
    names = options.only or list(decoders())
    state = State(options.state, options.seed)
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell starts background commands with the first one ignored
        signal.signal(number, signal.default_int_handler)
    run(state, names, options.inputs, 60 * options.minutes)
    print(report(state, names), f"\n{machine()}", sep="\n")
    sys.exit(1 if state.crashes.exists() else 0)


if __name__ == "__main__":
    main()
