"""Which emoji the benchmark is about, what they are called, and which of them look alike."""

from __future__ import annotations

import re
from functools import cache

import numpy as np

from equiview.data.languages import languages
from sources import annotations, emoji_list, noto

FLAG_OF = {
    "USA": "1f1fa-1f1f8",
    "UK": "1f1ec-1f1e7",
    "AUS": "1f1e6-1f1fa",
    "GER": "1f1e9-1f1ea",
    "CHN": "1f1e8-1f1f3",
    "JPN": "1f1ef-1f1f5",
    "ESP": "1f1ea-1f1f8",
    "ARG": "1f1e6-1f1f7",
    "FRA": "1f1eb-1f1f7",
    "PRT": "1f1f5-1f1f9",
    "BRA": "1f1e7-1f1f7",
    "SAU": "1f1f8-1f1e6",
    "THA": "1f1f9-1f1ed",
    "IND": "1f1ee-1f1f3",
    "KEN": "1f1f0-1f1ea",
    "NGA": "1f1f3-1f1ec",
}
"""The 16 countries of P's table 4, and the code points of their flags."""

CLDR_CODES = {"quz": "qu"}
"""Where CLDR's code differs from ours; Norwegian is `no` in both."""
NIGERIA = ("yo", "ha")

LOOKALIKES: tuple[tuple[str, str], ...] = (
    ("clock", r"o’clock$|-thirty$"),
    ("moon", r"\bmoon\b"),
    ("heart", r"^(red|orange|yellow|green|blue|light blue|purple|brown|black|grey|white|pink) heart$"),
    ("circle", r"^(red|orange|yellow|green|blue|purple|brown|black|white|hollow red) circle$"),
    ("square", r"^(red|orange|yellow|green|blue|purple|brown|black|white).* square$"),
    ("square button", r"^(black|white) square button$"),
    ("diamond", r"^(large|small) (orange|blue) diamond$"),
    ("triangle", r"^red triangle pointed|^(upwards|downwards) button$"),
    ("globe", r"^globe showing"),
    ("mailbox", r"mailbox with"),
    ("book", r"^(closed|green|blue|orange|red) book$|^books$"),
    ("medal", r"place medal$"),
    (
        "arrow",
        r"^(up|down|left|right)(-(up|down|left|right))? arrow|^(counter)?clockwise |"
        r"^(back|end|on!|soon|top) arrow",
    ),
    (
        "player button",
        r"^(play|pause|stop|record|reverse|fast|next|last|eject|play or pause)\b.* (button|track)",
    ),
    ("speaker", r"speaker"),
    ("hourglass", r"hourglass"),
    ("brightness", r"^(dim|bright) button$"),
    ("japanese button", r"^japanese “"),
    ("input", r"^input "),
    ("letter button", r"^(a|b|ab|o|cl|cool|free|id|m|new|ng|ok|p|sos|up!|vs).* button|^circled m$"),
    ("family", r"^family|^couple with heart|^kiss(: |$)|holding hands$"),
    ("banknote", r"banknote"),
    ("monkey", r"^(see|hear|speak)-no-evil"),
    ("envelope", r"envelope"),
    ("lock", r"locked"),
    ("loop", r"curly loop|loop$"),
    ("bell", r"^bell"),
)


def equiview_languages() -> list[str]:
    """The 36 languages of Crossmodal-3600, most written first."""
    return list(languages()["code"])


def name_of(concept: str, language: str) -> str | None:
    """CLDR's short name, or None."""
    entry = annotations(CLDR_CODES.get(language, language)).get(concept, {})
    return entry["tts"][0] if entry.get("tts") else None


def keywords_of(concept: str, language: str) -> list[str]:
    """CLDR's keywords; they are used in training only."""
    return annotations(CLDR_CODES.get(language, language)).get(concept, {}).get("default", [])


@cache
def concepts() -> tuple[str, ...]:
    """Emoji that are named in all 36 languages and drawn by Noto; no skin tones, flags or keycaps."""
    chosen = []
    for concept, entry in emoji_list().items():
        points = [int(code, 16) for code in concept.split("-")]
        toned = any(0x1F3FB <= point <= 0x1F3FF for point in points)
        if toned or 0x20E3 in points or entry["group"] == "Flags":
            continue
        if all(name_of(concept, code) for code in equiview_languages()) and noto(concept, 8):
            chosen.append(concept)
    return tuple(chosen)


def families(threshold: float = 0.06) -> dict[str, str]:
    """One label per concept: concepts that look alike share that of the first of them.

    Alike are: the same role shown by a man, a woman or a person; the families of LOOKALIKES; and drawings
    whose pixels differ by less than `threshold` (root mean square, colours in 0..1, on grey), within one
    Unicode group.
    """
    listed = concepts()
    label = {concept: concept for concept in listed}

    def merge(members: list[str]) -> None:
        labels = {label[member] for member in members}
        first = min(labels, key=listed.index)
        for concept in listed:
            if label[concept] in labels:
                label[concept] = first

    keys: dict[str, list[str]] = {}
    for concept in listed:
        name = str(name_of(concept, "en")).lower()
        for key in {"role " + _role(concept), "named " + _without_gender(name), *_lookalikes(name)}:
            keys.setdefault(key, []).append(concept)
    for members in keys.values():
        if len(members) > 1:
            merge(members)
    for first, second in near_duplicates(threshold):
        merge([first, second])
    return label


def _role(concept: str) -> str:
    kept = [code for code in concept.split("-") if code not in {"200d", "2640", "2642"}]
    if len(kept) > 1 and kept[0] in {"1f468", "1f469", "1f9d1"}:
        kept[0] = "person"
    return "-".join(kept)


def _without_gender(name: str) -> str:
    name = re.sub(r"^mer(man|maid|person)$", "mer", name)
    return re.sub(r"\b(older |old )?(woman|man|women|men|person|people|boy|girl|child)\b", "person", name)


def _lookalikes(name: str) -> list[str]:
    return ["alike " + label for label, pattern in LOOKALIKES if re.search(pattern, name)]


def near_duplicates(threshold: float) -> list[tuple[str, str]]:
    """Pairs of concepts of one Unicode group whose Noto drawings hardly differ."""
    from PIL import Image

    listed = concepts()
    rows = []
    for concept in listed:
        drawing = noto(concept, 32)
        assert drawing is not None
        ground = Image.new("RGBA", drawing.size, (128, 128, 128, 255))
        flat = Image.alpha_composite(ground, drawing).convert("RGB")
        rows.append(np.asarray(flat, dtype=np.float32).ravel() / 255)
    x = np.stack(rows)
    squares = (x * x).sum(axis=1)
    distance = np.sqrt(np.maximum(squares[:, None] + squares[None] - 2 * x @ x.T, 0) / x.shape[1])
    near = np.argwhere(np.triu(distance < threshold, 1))
    groups = [emoji_list()[concept]["group"] for concept in listed]
    return [(listed[i], listed[j]) for i, j in near.tolist() if groups[i] == groups[j]]
