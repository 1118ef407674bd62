"""Write the tables of the benchmark `pictograms-flags`: `python labs/flags_data.py`."""

from __future__ import annotations

from flags import LANGUAGES, held_out_flag, place_name, places
from pictograms_data import webp, write
from sources import fetch


def main() -> None:
    fetch()
    codes = places()["code"].to_list()
    write(
        "places",
        {
            "code": codes,
            "region": places()["region"].to_list(),
            "picture": [webp(held_out_flag(code)) for code in codes],
        },
    )
    rows = [(code, language) for language in LANGUAGES for code in codes]
    write(
        "place_names",
        {
            "code": [code for code, _ in rows],
            "language": [language for _, language in rows],
            "text": [place_name(code, language) for code, language in rows],
        },
    )


if __name__ == "__main__":
    main()
