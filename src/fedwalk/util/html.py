"""A small HTML table, for values that a notebook shows."""

from collections.abc import Iterable, Sequence
from html import escape


def html_table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]], note: str = "") -> str:
    """A table without any style of its own, so that it looks like the others in the notebook.

    >>> html_table("two < three", ["n"], [[2]])
    '<p>two &lt; three</p><table><thead><tr><th>n</th></tr></thead><tbody><tr><td>2</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    below = f"<p>{escape(note)}</p>" if note else ""
    return f"<p>{escape(title)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"
