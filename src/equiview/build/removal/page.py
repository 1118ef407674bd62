"""What the pages of a removal share: a head, a style, and no way out of the page."""

from __future__ import annotations

from html import escape

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
STYLE = """
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif }
body { margin: 2rem auto; max-width: 64rem; padding: 0 1rem; overflow-wrap: anywhere }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse; overflow-wrap: normal }
td, th { padding: .15rem .9rem .15rem 0; text-align: left; vertical-align: top }
td:nth-child(2), th:nth-child(2) { text-align: right; font-variant-numeric: tabular-nums }
caption { text-align: left; font-weight: 600 } th { border-bottom: 1px solid #8886 }
.tables { display: flex; flex-wrap: wrap; gap: 1rem 3rem; align-items: start; margin-bottom: 2rem }
.row { border-top: 1px solid #8886; padding: 1rem 0; display: grid; gap: .6rem 1rem;
       grid-template-columns: repeat(3, minmax(0, 15rem)) 1fr }
.row img { width: 100%; height: auto; display: block } .row p { margin: 0 0 .4rem } .small { opacity: .75 }
del { text-decoration-thickness: 2px } a { color: inherit }
@media (max-width: 50rem) { .row { grid-template-columns: repeat(3, minmax(0, 1fr)) }
  .row div { grid-column: 1 / -1 }
  .wide td:nth-child(n+4), .wide th:nth-child(n+4) { display: none } }
"""


def page(title: str, content: str) -> str:
    """An HTML page that loads nothing.

    >>> "<title>A &amp; B</title>" in page("A & B", "<p>")
    True
    """
    return f"""<!doctype html>
<html lang="en" data-ready><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{escape(title)}</title><style>{STYLE}</style>
{content}
</html>
"""
