"""Shared by the benchmarks: alternating timing, the machine's state, and writing a section of docs/performance.md."""

import os
import platform
import re
import sys
import time
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from statistics import median

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"


def by_turns(contenders: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, list[float]]:
    """The seconds of each contender in each round.

    Every round runs all of them once, so that a change of the machine's load affects all of them.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(repeats):
        for name, job in contenders.items():
            began = time.perf_counter()
            job()
            seconds[name].append(time.perf_counter() - began)
            print(f"  round {turn + 1}: {name}: {seconds[name][-1]:.2f} s", file=sys.stderr, flush=True)
    return seconds


def ratio(seconds: dict[str, list[float]], slower: str, faster: str) -> float:
    """The median over the rounds of the seconds of `slower` divided by those of `faster`."""
    return median(a / b for a, b in zip(seconds[slower], seconds[faster], strict=True))


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def machine() -> str:
    """The processor, the number of cores, the load and the date."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        match = re.search(r"model name\s*: (.*)", info.read_text(encoding="utf-8"))
        model = match.group(1) if match else model
    cores = os.cpu_count()
    return f"{model}, {cores} cores, load average {os.getloadavg()[0]:.1f} at the end, {date.today().isoformat()}"


def publish(section: str, text: str, command: str, path: Path = PAGE) -> None:
    """Print the result and write it into its section of a page, with the command and the machine.

    A section is the text between the comments <!-- name --> and <!-- /name -->; a missing one is added at the end.
    """
    content = f"{text}\n\n`{command}` — {machine()}"
    print(content)
    begin, end = f"<!-- {section} -->", f"<!-- /{section} -->"
    page = path.read_text(encoding="utf-8")
    if begin not in page:
        page = f"{page}\n## {section.capitalize()}\n\n{begin}\n{end}\n"
    before, rest = page.split(begin)
    after = rest.split(end)[1]
    path.write_text(f"{before}{begin}\n{content}\n{end}{after}", encoding="utf-8")
