"""A run as a notebook shows it: the answers, each effect beside what would be fair, and who is worst off."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup, escape

from equiview.data.figures import Chart
from equiview.data.run import Run
from equiview.errors import InputError
from equiview.report import charts, opening
from equiview.report.words import counted

COLOURS = {"biased": "#b3261e", "fair": "#1b6e3c", "unclear": "#6b6f76", "failed": "#b3261e"}
INK = "#1c2126"
HEADER = ("audit", "finding", "effect", "worst off")
HEAD = 84
"""Pixels of a title and a legend above a figure."""
LINE = Markup('<span style="white-space:nowrap">{}</span>')
CELL = "text-align:left;vertical-align:top;padding:4px 10px"


def run_text(run: Run) -> str:
    """The answers in plain words, a line for each audit."""
    lines = [f"{run.name} on {run.manifest.benchmark.name} ({run.folder})"]
    for card in opening.cards([run]):
        for answer in card.answers:
            lines.append(f"  {answer.sign} {card.audit}: {answer.word}. {answer.text}")
    return "\n".join(lines)


def run_html(run: Run) -> str:
    """The answers as a table of HTML; every word of the run's is escaped."""
    rows = []
    for card in opening.cards([run]):
        for answer in card.answers:
            colour = COLOURS[answer.finding]
            word = Markup('<b style="color:{};white-space:nowrap">{} {}</b>').format(
                colour, answer.sign, answer.word
            )
            cells = [
                escape(card.audit),
                word,
                Markup("<br>").join(_effect(card, answer)),
                Markup("<br>").join(_worst(answer)),
            ]
            rows += [_row("td", cells), _row("td", [escape(answer.text)], len(HEADER))]
    counts = counted(run.manifest.benchmark.counts)
    head = Markup("<p><b>{}</b> on {} ({})</p>").format(run.name, run.manifest.benchmark.name, counts)
    header = _row("th", list(map(escape, HEADER)))
    return str(head + Markup("<table>{}{}</table>").format(header, Markup("").join(rows)))


def plotly_figure(chart: Chart, name: str) -> Any:
    """A chart of the run of that name as a `plotly.graph_objects.Figure`; InputError without plotly."""
    try:
        import plotly.graph_objects as plotly
    except ImportError:
        raise InputError("figures in a notebook need plotly: pip install 'equiview[notebook]'") from None
    drawn = _inked(charts.spec(chart, [name]))
    shown = plotly.Figure(drawn["data"], drawn["layout"])
    title = {"text": chart.title, "yref": "container", "y": 1, "yanchor": "top", "pad": {"t": 12}}
    above = HEAD if shown.layout.showlegend else HEAD // 2  # the title, and the legend beneath it
    return shown.update_layout(
        title=title,
        margin={"t": above},
        height=shown.layout.height + above,
        template="plotly_white",
    )


def _inked(value: Any) -> Any:
    """A copy in which the colour "ink", which the page sets by its theme, is that of letters on white."""
    if isinstance(value, dict):
        return {key: _inked(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_inked(inner) for inner in value]
    return INK if isinstance(value, str) and value == "ink" else value


def _row(tag: str, cells: list[Markup], wide: int = 1) -> Markup:
    """A row of cells, each of which is `wide` columns."""
    cell = Markup('<{0} style="{1}" colspan="{2}">{3}</{0}>')
    inner = (cell.format(Markup(tag), CELL, wide, content) for content in cells)
    return Markup("<tr>{}</tr>").format(Markup("").join(inner))


def _effect(card: opening.Card, answer: opening.Answer) -> list[Markup]:
    """The effect that the verdict rests on, beside its floor and its tolerance."""
    effect = answer.effect
    if effect is None:
        return []
    about = ", ".join(filter(None, [card.metric, effect["of"]]))
    words = [f"{effect['value']} {effect['interval']}"]
    words += [f"chance {effect['chance']}"] if effect["chance"] else []
    words += [f"{effect['times']} ({effect['tolerance']})"] if effect["times"] else []
    return [escape(about), *(LINE.format(word) for word in words)]


def _worst(answer: opening.Answer) -> list[Markup]:
    """The first list of who is shown to be worse off: at most five."""
    lists = [entry for entry in answer.worst if entry["entries"]]
    if not lists:
        return []
    first = lists[0]
    shown = [
        LINE.format(f"{entry['name']} {entry['value']} {entry['interval']}") for entry in first["entries"]
    ]
    return [*shown, LINE.format(f"{first['shown']} of {first['of']} {first['title']}")]
