"""Write outcomes to files: JSON and CSV for programs, Markdown for a repository, one HTML page for a browser."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from html import escape
from importlib.resources import files
from pathlib import Path

from fedwalk import __version__
from fedwalk.experiments.outcome import CLOSE, DIFFERS, REPRODUCED, UNTESTED, VERDICTS, Claim, Outcome, Table
from fedwalk.experiments.plots import draw, inline_svg
from fedwalk.experiments.setup import Setup
from fedwalk.run.folder import write_text
from fedwalk.util.text import counted, listed, sentence

RULE = (
    "A change in percent counts as reproduced if it differs from the paper's by at most two standard deviations over "
    "our seeds, or by at most one percentage point, whichever is more. Beyond that it is close if it differs by at "
    "most a quarter of the paper's number. Nothing was tuned to match."
)
MAX_SHORT = 30
"""Cells with more characters get a wider column, so that a narrow screen doesn't break them into single words."""
CLAIMS = ["where", "claim", "paper", "here", "verdict", "why"]


@dataclass(frozen=True, slots=True)
class Edition:
    """The outcomes of experiments on one setup, with the command and the day that produced them."""

    setup: Setup
    outcomes: list[Outcome]
    command: str
    day: date

    @property
    def claims(self) -> list[Claim]:
        """All claims, the ones that could be tested first."""
        every = [claim for outcome in self.outcomes for claim in outcome.claims]
        return sorted(every, key=lambda claim: claim.verdict == UNTESTED)

    @property
    def verdicts(self) -> dict[str, int]:
        """How many claims got each verdict."""
        given = [claim.verdict for claim in self.claims]
        return {verdict: given.count(verdict) for verdict in VERDICTS}

    @property
    def about(self) -> str:
        """One line on graph, version and day."""
        graph = self.setup.graph
        return f"{graph.vertices:,} vertices, {graph.edges:,} edges. fedwalk {__version__}, {self.day.isoformat()}."


def summary(verdicts: Mapping[str, int]) -> str:
    """What became of the paper's claims, in at most three sentences; empty if the experiments cover none.

    >>> summary({"reproduced": 1, "close": 0, "differs": 3, "can't be tested": 0}).split(". ")[1]
    '1 was reproduced, none is close and 3 differ.'
    """
    total, untested = sum(verdicts.values()), verdicts[UNTESTED]
    if not total:
        return ""
    cover = f"These experiments cover {counted(total, 'claim', 'claims')} of the paper"
    because = "because the run lacks the dataset or the settings."
    if untested == total:
        return f"{cover}. None could be tested, {because}"
    results = [_count(verdicts[REPRODUCED], "was reproduced", "were reproduced")]
    results += [_count(verdicts[CLOSE], "is close", "are close"), _count(verdicts[DIFFERS], "differs", "differ")]
    told = f"{sentence(listed(results))}."
    if not untested:
        return f"{cover}, and {'it' if total == 1 else 'all'} could be tested. {told}"
    others = "The other one" if untested == 1 else f"The other {untested:,}"
    return f"{cover}, and {total - untested:,} could be tested. {told} {others} could not, {because}"


def _count(count: int, one: str, many: str) -> str:
    return counted(count, one, many) if count else f"none {one}"


def publish(edition: Edition, folder: Path, *, figures: bool = True) -> Path:
    """Write all files into the folder, and return the path of the HTML page."""
    folder.mkdir(parents=True, exist_ok=True)
    for outcome in edition.outcomes:
        for table in outcome.tables:
            write_text(folder / f"{table.name}.csv", as_csv(table.header, table.rows))
        for chart in outcome.charts if figures else ():
            draw(chart, folder / "figures")
    rows = [[*asdict(claim).values()] for claim in edition.claims]
    write_text(folder / "claims.csv", as_csv(CLAIMS, rows))
    record = {
        "fedwalk": __version__, "graph": edition.setup.title, "command": edition.command,
        "date": edition.day.isoformat(), "findings": [asdict(outcome) for outcome in edition.outcomes],
    }  # fmt: skip
    write_text(folder / "results.json", json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    write_text(folder / "summary.md", as_markdown(edition, figures))
    # Last, because the page contains the figures that were drawn above.
    write_text(folder / "index.html", as_page(edition, folder if figures else None))
    return folder / "index.html"


def read_claims(folder: Path) -> list[list[str]]:
    """The rows of claims.csv, without the header."""
    with (folder / "claims.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def as_csv(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows with a header as CSV text, quoted where necessary."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue()


def as_markdown(edition: Edition, figures: bool) -> str:
    """The outcomes as Markdown, with links to the figures."""
    parts = [f"# {edition.setup.title}", f"{edition.about} Made by `{edition.command}`."]
    if edition.claims:
        parts += ["## Summary", summary(edition.verdicts)]
    for outcome in edition.outcomes:
        parts += [f"## {outcome.title}", outcome.text]
        for table in outcome.tables:
            parts += [f"**{table.title}**", _markdown_table(table.header, table.rows)]
        parts += [f"![{chart.title}](figures/{chart.name}.svg)" for chart in outcome.charts if figures]
    if edition.claims:
        rows = [[*asdict(claim).values()] for claim in edition.claims]
        parts += ["## Claim by claim", RULE, _markdown_table(CLAIMS, rows)]
    return "\n\n".join(parts) + "\n"


def _markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    # A bar in a cell would end the cell, so it is escaped.
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def as_page(edition: Edition, folder: Path | None) -> str:
    """The outcomes as one self-contained HTML page: the summary, then the experiments; figures are inlined as SVG."""
    title = escape(edition.setup.title)
    made = f"{escape(edition.about)} Made by <code>{escape(edition.command)}</code>."
    parts = [f'<header><h1>FedWalk on {title}</h1><p class="muted">{made}</p></header>']
    if edition.claims:
        parts.append(_html_summary(edition))
    parts += [_html_outcome(outcome, folder) for outcome in edition.outcomes]
    if edition.claims:
        rows = [[*asdict(claim).values()] for claim in edition.claims]
        table = _html_table(Table("claims", "The paper's numbers compared with ours", CLAIMS, rows))
        parts.append(f'<section id="claims"><h2>Claim by claim</h2><p>{escape(RULE)}</p>{table}</section>')
    style = (files("fedwalk.experiments") / "page.css").read_text(encoding="utf-8")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>FedWalk on {title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>\n{style}</style></head>'
        f"<body><main>\n{chr(10).join(parts)}\n</main></body></html>\n"
    )


def _html_summary(edition: Edition) -> str:
    """The summary as sentences, and its counts."""
    counts = "".join(
        f'<div class="{_class(verdict)}"><dt>{escape(verdict)}</dt><dd>{count:,}</dd></div>'
        for verdict, count in edition.verdicts.items()
    )
    text = f'<p>{escape(summary(edition.verdicts))} <a href="#claims">Claim by claim</a></p>'
    return f'<section id="summary"><h2>Summary</h2>{text}<dl class="counts">{counts}</dl></section>'


def _html_outcome(outcome: Outcome, folder: Path | None) -> str:
    """One experiment: its figures, unless there is no folder that has them, and its tables."""
    figures = ""
    for chart in outcome.charts if folder else ():
        drawing = (Path(folder or ".") / "figures" / f"{chart.name}.svg").read_text(encoding="utf-8")
        figures += f'<figure role="img" aria-label="{escape(chart.title)}">{inline_svg(drawing)}</figure>'
    shown = f'<div class="figures">{figures}</div>' if figures else ""
    tables = "".join(map(_html_table, outcome.tables))
    return f"<section><h2>{escape(outcome.title)}</h2><p>{escape(outcome.text)}</p>{shown}{tables}</section>"


def _html_table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in table.header)
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in table.rows)
    caption = f"<caption>{escape(table.title)}</caption>"
    return f'<div class="scroll"><table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(text: str) -> str:
    kind = _class(text) if text in VERDICTS else "long" if len(text) > MAX_SHORT else ""
    # A number stays on one line with its spread and its unit.
    whole = text.replace(" ± ", "\u00a0±\u00a0").replace(" %", "\u00a0%")
    return f'<td class="{kind}">{escape(whole)}</td>' if kind else f"<td>{escape(whole)}</td>"


def _class(verdict: str) -> str:
    return "untested" if verdict == UNTESTED else verdict
