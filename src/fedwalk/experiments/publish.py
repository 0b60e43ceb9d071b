"""Write outcomes to files: JSON and CSV for programs, Markdown for a repository, one HTML page for a browser."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date
from html import escape
from pathlib import Path

from fedwalk import __version__
from fedwalk.experiments.outcome import Claim, Outcome, Table
from fedwalk.experiments.plots import draw
from fedwalk.experiments.setup import Setup
from fedwalk.run.folder import write_text

RULE = (
    "A change in percent counts as reproduced if it differs from the paper's by at most two standard deviations over "
    "our seeds, or by at most one percentage point, whichever is more. Nothing was tuned to match."
)
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
        return sorted(every, key=lambda claim: claim.verdict == "can't be tested")

    @property
    def about(self) -> str:
        """One line on graph, version and day."""
        graph = self.setup.graph
        return f"{graph.vertices:,} vertices, {graph.edges:,} edges. fedwalk {__version__}, {self.day.isoformat()}."


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


STYLE = """
:root { color-scheme: light dark; --line: #8886; --good: #2a7d4f; --bad: #b4471f; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 1000px; margin: 2rem auto; padding: 0 1rem; }
h1 { line-height: 1.2; } h2 { margin-top: 2.5rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-bottom: .3rem; }
th, td { padding: .3rem .8rem .3rem 0; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
figure { margin: 1.5rem 0; background: #fff; color: #000; border-radius: 6px; display: inline-block; }
figure svg { max-width: 100%; height: auto; display: block; }
.reproduced { color: var(--good); font-weight: 600; } .differs { color: var(--bad); font-weight: 600; }
@media (prefers-color-scheme: dark) { :root { --good: #6fcf97; --bad: #f2a07b; } }
@media print { h2 { break-after: avoid; } figure, table { break-inside: avoid; } }
"""


def as_page(edition: Edition, folder: Path | None) -> str:
    """The outcomes as one self-contained HTML page; figures are inlined as SVG."""
    title = escape(edition.setup.title)
    made = f"{escape(edition.about)} Made by <code>{escape(edition.command)}</code>."
    parts = [f"<h1>FedWalk on {title}</h1>", f"<p>{made}</p>"]
    for outcome in edition.outcomes:
        parts += [f"<h2>{escape(outcome.title)}</h2>", f"<p>{escape(outcome.text)}</p>"]
        parts += [_html_table(table) for table in outcome.tables]
        for chart in outcome.charts if folder else ():
            drawing = (Path(folder or ".") / "figures" / f"{chart.name}.svg").read_text(encoding="utf-8")
            # Without the XML declaration, which HTML doesn't allow in its middle.
            svg = drawing[drawing.index("<svg") :]
            parts.append(f'<figure role="img" aria-label="{escape(chart.title)}">{svg}</figure>')
    if edition.claims:
        rows = [[*asdict(claim).values()] for claim in edition.claims]
        parts += ["<h2>Claim by claim</h2>", f"<p>{escape(RULE)}</p>"]
        parts.append(_html_table(Table("claims", "The paper's numbers compared with ours", CLAIMS, rows)))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>FedWalk on {title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>'
        f"<body><main>\n{chr(10).join(parts)}\n</main></body></html>\n"
    )


def _html_table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in table.header)
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in table.rows)
    caption = f"<caption>{escape(table.title)}</caption>"
    return f'<div class="scroll"><table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(text: str) -> str:
    mark = f' class="{text}"' if text in ("reproduced", "differs") else ""
    return f"<td{mark}>{escape(text)}</td>"
