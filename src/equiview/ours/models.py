"""Models known by name: the ten of paper P, with what it takes to run each.

Names, families and sizes are those of P. A revision is the commit of the weights that mteb registers; where
there is none, the repository is read as it is now. A licence is that of the weights as their publisher stated
it at the time of writing; read the model's page before relying on it.
"""

import csv
from importlib.resources import files


def models() -> list[dict[str, str | float | None]]:
    """One row per model: name, subject, revision, family, parameters_millions, licence, extra.

    Subject and revision are what to type in full.
    """
    with files(__package__).joinpath("models.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [
        row | {"revision": row["revision"] or None, "parameters_millions": float(row["parameters_millions"])}
        for row in rows
    ]
