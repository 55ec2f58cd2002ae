"""Pieces of HTML for notebooks. Names and labels are data, never markup: whatever they contain, it is shown as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

# Control characters as pictures of themselves: HTML has no way to write them.
_PICTURES = {code: 0x2400 + code for code in range(32)} | {127: 0x2421}
# Characters that turn the direction of what follows would let a name pass for another one.
_TURNS = {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), 0xFFFD)
_VISIBLE: dict[int, int | str] = {**_PICTURES, **_TURNS, **_SURROGATES}


def escape_controls(text: str) -> str:
    """Return text in which control characters can be seen, and that can be written as UTF-8."""
    return text.translate(_VISIBLE)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; all columns but the first hold numbers."""

    def table_row(tag: str, cells: Sequence[str]) -> str:
        sides = ["left", *["right"] * (len(cells) - 1)]
        each = (
            f'<{tag} style="text-align:{side}">{escape(escape_controls(cell))}</{tag}>'
            for side, cell in zip(sides, cells, strict=True)
        )
        return f"<tr>{''.join(each)}</tr>"

    body = "".join(table_row("td", row) for row in rows)
    return f"<table><thead>{table_row('th', header)}</thead><tbody>{body}</tbody></table>"


def fragment(heading: str, *parts: str, remarks: Sequence[str] = ()) -> str:
    """Return a heading and remarks (text), and parts (HTML), side by side where they fit."""
    sentences = "".join(f'<p style="margin:0 0 .5em">{escape(escape_controls(remark))}</p>' for remark in remarks)
    each = "".join(f'<div style="flex:0 1 26em">{part}</div>' for part in parts)
    return (
        f'<div><p style="margin:0 0 .5em"><b>{escape(escape_controls(heading))}</b></p>{sentences}'
        f'<div style="display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start">{each}</div></div>'
    )
