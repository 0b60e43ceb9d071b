"""What the benchmarks share: contenders by turns, the machine's state, and the section of docs/performance.md."""

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
    """Seconds of each contender in each round; all of them once per round, so that the load hits them alike."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(repeats):
        for name, job in contenders.items():
            began = time.perf_counter()
            job()
            seconds[name].append(time.perf_counter() - began)
            print(f"  round {turn + 1}: {name}: {seconds[name][-1]:.2f} s", file=sys.stderr, flush=True)
    return seconds


def ratio(seconds: dict[str, list[float]], slower: str, faster: str) -> float:
    """How many times as long `slower` took, the median over the rounds."""
    return median(a / b for a, b in zip(seconds[slower], seconds[faster], strict=True))


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def machine() -> str:
    """The processor, the cores, the load and the day."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        found = re.search(r"model name\s*: (.*)", info.read_text(encoding="utf-8"))
        model = found.group(1) if found else model
    cores = os.cpu_count()
    return f"{model}, {cores} cores, load average {os.getloadavg()[0]:.1f} at the end, {date.today().isoformat()}"


def publish(section: str, text: str, command: str, path: Path = PAGE) -> None:
    """Print the result and put it into its section of a page, with the command and the machine."""
    content = f"{text}\n\n`{command}` — {machine()}"
    print(content)
    begin, end = f"<!-- {section} -->", f"<!-- /{section} -->"
    page = path.read_text(encoding="utf-8")
    if begin not in page:
        page = f"{page}\n## {section.capitalize()}\n\n{begin}\n{end}\n"
    before, rest = page.split(begin)
    after = rest.split(end)[1]
    path.write_text(f"{before}{begin}\n{content}\n{end}{after}", encoding="utf-8")
