"""A header and rows of cells as LaTeX and Markdown that survive pasting."""

from __future__ import annotations

from collections.abc import Sequence

LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "−": "$-$",
    "–": "--",
    "∞": r"$\infty$",
}
MARKDOWN = {character: "\\" + character for character in "\\`*_[]<>|~#"} | {"\n": " ", "\r": " "}

Header = Sequence[tuple[str, bool]]
"""Each column's name, and whether it holds words, which stand on the left, or numbers."""
Rows = Sequence[Sequence[str]]


def escaped(text: str, marks: dict[str, str]) -> str:
    r"""`text` with each marked character replaced.

    >>> escaped("50% of a_b", LATEX)
    '50\\% of a\\_b'
    """
    return "".join(marks.get(character, character) for character in text)


def latex_grid(title: str, header: Header, rows: Rows) -> list[str]:
    """Lines of a `tabular` in the style of booktabs, after a comment with the title."""
    shape = "".join("l" if words else "r" for _, words in header)
    return [
        f"% {title}. Needs \\usepackage{{booktabs}}.",
        f"\\begin{{tabular}}{{{shape}}}",
        "\\toprule",
        " & ".join(escaped(name, LATEX) for name, _ in header) + r" \\",
        "\\midrule",
        *(" & ".join(escaped(cell, LATEX) for cell in row) + r" \\" for row in rows),
        "\\bottomrule",
        "\\end{tabular}",
        "",
    ]


def markdown_grid(title: str, header: Header, rows: Rows) -> list[str]:
    """Lines of a table under a heading with the title."""
    return [
        f"### {escaped(title, MARKDOWN)}",
        "",
        "| " + " | ".join(escaped(name, MARKDOWN) for name, _ in header) + " |",
        "| " + " | ".join(":--" if words else "--:" for _, words in header) + " |",
        *("| " + " | ".join(escaped(cell, MARKDOWN) for cell in row) + " |" for row in rows),
        "",
    ]
