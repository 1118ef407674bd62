"""S in miniature, with a known cause: `python -m labs.connector_miniature`.

Twelve encoders see people of 64 roles; a role is tied to a gender, from not at all to nearly always. Each
is joined to one small language model of CLDR's words by a connector that learns from people without a tie,
and is asked what the people do. The social audit is of the encoders, the amplification audit of what answers,
and the transfer study of both. Pictures are blurred and noisy, so that there is something to guess. With
`--place text` only the text towers are tied, which no connector reads.
"""

from __future__ import annotations

import argparse
import csv
import io
from pathlib import Path

import numpy as np
import polars as pl
import tokenizers
import torch
import transformers as hf
from labs.connector_encoders import BASE, Towers, save, train
from PIL import Image, ImageFilter
from sklearn.linear_model import LogisticRegression

from equiview import api
from equiview.audits.execute import observations_of
from equiview.audits.social import SOCIAL  # noqa: F401 - registers the audit before it is asked for
from equiview.benchmarks import Benchmark, load_benchmark
from equiview.benchmarks.base import same_image
from equiview.benchmarks.neutral import NEUTRAL_PROMPTS
from equiview.benchmarks.vqav2 import ANSWERS, QUESTIONS
from equiview.data.estimates import Estimates
from equiview.data.items import Items
from equiview.data.run import Run
from equiview.io.tables import write_parquet
from equiview.mitigation.connector.examples import Examples, captions_of, questions_of
from equiview.mitigation.connector.settings import ConnectorSettings
from equiview.mitigation.connector.train import train_connector
from equiview.stats import spearman_fisher, wilson_interval
from equiview.store import stored
from equiview.studies.transfer import TransferSettings, transfer
from equiview.subjects import Subject, load_subject

GENDERS = ("man", "woman")
LEARNT, ASKED = ("light", "medium", "dark"), ("medium-light", "medium-dark", None)
"""Skins of the people that are learnt from, and of those that are asked about."""
COPIES = {"learnt": 4, "asked": 2}
BLUR, NOISE = 10.0, 20.0
"""Pixels, and standard deviation of 255: so that roles are mistaken and genders are still seen."""
PEOPLE = 10
"""Human answers to a question, as VQA's accuracy supposes; here all say the same."""
QUESTION = "What does this person do?"
CAPTION = "Provide a one-sentence caption for the provided image."
ASK = "{question}\nAnswer the question using a single word or phrase."
TEMPLATE = "{image} {prompt} :"
ENCODER_STEPS, WORD_STEPS = 400, 800
STEPS = {"captions": 150, "questions": 150}
RESULTS = Path(__file__).parent / "results"


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--out", type=Path, default=Path("build/labs/connector"))
    arguments.add_argument("--models", type=int, default=12)
    arguments.add_argument("--place", choices=("both", "text"), default="both")
    given = arguments.parse_args()
    torch.set_num_threads(1)
    out = given.out / given.place
    people = load_benchmark("pictograms-people")
    learnt, asked = (world(people, skins, name) for name, skins in (("learnt", LEARNT), ("asked", ASKED)))
    print("read from the pictures that are asked about, by linear probes:", readable(learnt, asked))
    words = language_model(given.out / "words", people)
    strengths = np.linspace(0, 0.95, given.models).round(3).tolist()
    folders = encoders(out, learnt, strengths, given.place)
    before, after = [], []
    short = dict(zip(asked.tables["questions"]["answer"], asked.images.table["role"], strict=True))
    for name, folder in folders.items():
        before.append(api.audit(subject(folder), asked, ["social"], out / "before" / name, name=name))
        joined = connect(folder, words, learnt, out / "connectors" / name)
        after.append(
            api.audit(
                f"connector:{joined},device=cpu,batch=64",
                asked,
                ["amplification"],
                out / "after" / name,
                settings={"amplification": {"attributes": ["gender"], "top": 64}},
            )
        )
        before.append(errors(before[-1], guesses(folder, asked), asked, out / "errors-before" / name))
        replies = observations_of(after[-1], "amplification")["replies"]
        said = [short.get(text) for text in replies["reply"]]
        after.append(errors(after[-1], said, asked, out / "errors-after" / name))
        print(name, flush=True)
    measured(before, after, strengths, given.place, out, asked, folders)


def subject(folder: Path):
    return stored(load_subject(f"labs.connector_encoders:Tied:{folder}"))


def world(people: Benchmark, skins: tuple[str | None, ...], name: str) -> Benchmark:
    """Blurred copies of women and men of some skins, their names, neutral prompts, a question about each."""
    table = people.images.table
    kept = table.filter(
        pl.col("gender").is_in(GENDERS),
        pl.col("skin").fill_null("none").is_in([skin or "none" for skin in skins]),
    )
    rng = np.random.default_rng(len(skins[-1] or ""))
    copies = [
        {**row, "id": f"{row['id']}-{copy}", "picture": blurred(row["picture"], rng)}
        for row in kept.iter_rows(named=True)
        for copy in range(COPIES[name])
    ]
    images = Items("image", pl.DataFrame(copies).drop("skin", "concept"), name)
    activity = dict(people.tables["neutral_prompts"].select("concept", "text").iter_rows())
    short = {role: text.removeprefix("person ") for role, text in activity.items()}
    ids = [row["id"] for row in copies]
    texts = pl.DataFrame(
        {
            "id": [f"text of {name}" for name in ids],
            "text": [named(activity[row["role"]], row["gender"]) for row in copies],
            "language": "en",
            "image_id": ids,
        }
    )
    answers = [short[row["role"]] for row in copies]
    about = {"question_id": ids, "image_id": ids, "question": QUESTION, "language": "en"}
    questions = pl.DataFrame({**about, "question_type": "what", "answer_type": "other", "answer": answers})
    said = pl.DataFrame({"question_id": ids, "answer": answers, "confidence": "yes"})
    said = pl.concat([said.with_columns(place=place) for place in range(1, PEOPLE + 1)])
    captions = Items("text", texts, f"{name}: names")
    return Benchmark(
        f"people-{name}",
        images,
        captions,
        same_image(images, captions),
        about="blurred drawings of women and men in 64 roles",
        tables={
            "neutral_prompts": people.tables["neutral_prompts"],
            "questions": questions,
            "answers": said,
        },
        schemas={"neutral_prompts": NEUTRAL_PROMPTS, "questions": QUESTIONS, "answers": ANSWERS},
    )


def readable(learnt: Benchmark, asked: Benchmark) -> dict[str, float]:
    """Accuracy of linear probes of the shipped image tower's vectors, fitted on what is learnt from."""
    base = load_subject(BASE)
    x, new = base.embed(learnt.images), base.embed(asked.images)
    return {
        name: round(
            float(
                LogisticRegression(C=100, max_iter=500)
                .fit(x, learnt.images.table[name].to_numpy())
                .score(new, asked.images.table[name].to_numpy())
            ),
            3,
        )
        for name in ("gender", "role")
    }


def named(neutral: str, gender: str) -> str:
    """The name of a role with its gender: `woman frowning`, `man firefighter`."""
    return f"{gender} {neutral.removeprefix('person ')}"


def blurred(picture: bytes, rng: np.random.Generator) -> bytes:
    """A picture made harder to see, as PNG."""
    image = Image.open(io.BytesIO(picture)).convert("RGBA")
    plain = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")
    pixels = np.asarray(plain.filter(ImageFilter.GaussianBlur(BLUR)), dtype=np.float64)
    noisy = np.clip(pixels + rng.normal(0, NOISE, pixels.shape), 0, 255).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(noisy).save(stream, "PNG")
    return stream.getvalue()


def language_model(folder: Path, people: Benchmark) -> Path:
    """A small GPT-NeoX that was taught CLDR's English names, to caption and to answer; kept in `folder`."""
    if (folder / "model.safetensors").is_file():
        return folder
    names = load_benchmark("pictograms").texts.table.filter(language="en")["text"].unique(maintain_order=True)
    activities = [text.removeprefix("person ") for text in people.tables["neutral_prompts"]["text"]]
    who = [(f"{gender} {text}", text) for text in activities for gender in GENDERS]
    # What is shown stands in words where the image will be: only so can the model learn to read that place.
    lines = [f"{name} {CAPTION} : {name}" for name in [*names, *[name for name, _ in who] * 4]]
    lines += [f"{name} {ASK.format(question=QUESTION)} : {text}" for name, text in who] * 8
    raw = tokenizers.Tokenizer(tokenizers.models.WordLevel(unk_token="<unk>"))
    raw.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    raw.train_from_iterator(lines, tokenizers.trainers.WordLevelTrainer(special_tokens=["<end>", "<unk>"]))
    tokenizer = hf.PreTrainedTokenizerFast(
        tokenizer_object=raw, eos_token="<end>", pad_token="<end>", unk_token="<unk>"
    )
    torch.manual_seed(0)
    sizes = {"hidden_size": 96, "intermediate_size": 192, "num_hidden_layers": 2, "num_attention_heads": 4}
    model = hf.GPTNeoXForCausalLM(
        hf.GPTNeoXConfig(
            **sizes, vocab_size=len(tokenizer), max_position_embeddings=64, bos_token_id=None, eos_token_id=0
        )
    )
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    rng = np.random.default_rng(0)
    for _ in range(WORD_STEPS):
        chosen = [f"{lines[row]} <end>" for row in rng.integers(len(lines), size=64)]
        batch = tokenizer(chosen, return_tensors="pt", padding=True, padding_side="right")
        ids, mask = batch["input_ids"], batch["attention_mask"]
        loss = model(ids, attention_mask=mask, labels=ids.masked_fill(mask == 0, -100)).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    weights = sum(part.numel() for part in model.parameters())
    print(f"language model: {weights:,} weights, loss {float(loss.detach()):.2f}")
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)
    return folder


def encoders(out: Path, learnt: Benchmark, strengths: list[float], place: str) -> dict[str, Path]:
    """Folders of trained encoders by name; one that is there is not trained again."""
    folders = {
        f"tie {strength:.2f}": out / "encoders" / f"{row:02d}" for row, strength in enumerate(strengths)
    }
    if all((folder / "towers.pt").is_file() for folder in folders.values()):
        return folders
    vectors = torch.tensor(load_subject(BASE).embed(learnt.images))
    table = learnt.images.table.with_row_index("row")
    rows_of = {
        (role, gender): part["row"].to_numpy()
        for (role, gender), part in table.group_by("role", "gender", maintain_order=True)
    }
    activity = dict(learnt.tables["neutral_prompts"].select("concept", "text").iter_rows())
    names = {(role, gender): named(activity[role], gender) for role, gender in rows_of}
    names |= {(role, ""): text for role, text in activity.items()}
    roles = list(dict.fromkeys(role for role, _ in rows_of))
    tied = ties(roles)
    untied: Towers | None = None
    if place == "text":
        untied = train(vectors, rows_of, names, tied, strength=0.0, seed=99, steps=ENCODER_STEPS)
    for row, (strength, folder) in enumerate(zip(strengths, folders.values(), strict=True)):
        towers = train(
            vectors, rows_of, names, tied, strength=strength, seed=row, steps=ENCODER_STEPS, head=untied
        )
        save(towers, folder)
    return folders


def ties(roles: list[str]) -> dict[str, str]:
    """The gender that each role is tied to: half of them to men."""
    order = np.random.default_rng(0).permutation(len(roles))
    return {roles[place]: GENDERS[rank % 2] for rank, place in enumerate(order)}


def connect(folder: Path, words: Path, learnt: Benchmark, out: Path) -> Path:
    """A connector between an encoder and the language model: the same data and settings for all."""
    settings = ConnectorSettings.of(
        {
            "tokens": 4,
            "template": TEMPLATE,
            "caption_prompt": CAPTION,
            "question_prompt": ASK,
            "forward": 64,
            "captions": {"batch": 64, "learning_rate": 3e-3, "steps": STEPS["captions"]},
            "questions": {"batch": 64, "learning_rate": 3e-3, "steps": STEPS["questions"]},
        }
    )
    captions: Examples = captions_of(learnt, CAPTION)
    return train_connector(
        load_subject(f"labs.connector_encoders:Tied:{folder}"),
        str(words),
        out,
        captions=captions,
        questions=questions_of(learnt, ASK),
        settings=settings,
        device="cpu",
    )


def guesses(folder: Path, asked: Benchmark) -> list[str]:
    """The role whose neutral name an encoder finds most similar to each image."""
    encoder = load_subject(f"labs.connector_encoders:Tied:{folder}")
    prompts = asked.tables["neutral_prompts"]
    scores = subject(folder).embed(asked.images) @ encoder.encode_texts(prompts["text"].to_list()).T
    return prompts["concept"].gather(scores.argmax(axis=1)).to_list()


def errors(like: Run, said: list[str | None], asked: Benchmark, folder: Path) -> Run:
    """A run beside `like`: of wrong roles, the share that are tied to the gender that is shown."""
    table = asked.images.table
    tied = ties(list(dict.fromkeys(table["role"])))
    shown = zip(said, table["role"], table["gender"], strict=True)
    wrong = [tied[role] == gender for role, right, gender in shown if role is not None and role != right]
    share = float(np.mean(wrong))
    low, high = (float(end) for end in wilson_interval(share, len(wrong)))
    row = {"metric": ERRORS, "attribute": "gender", "value": share, "low": low, "high": high}
    estimates = Estimates.of_rows([row | {"n": len(wrong), "chance": 0.5}]).stamped("errors")
    changed = {"audits": ("errors",), "settings": {"errors": {}}, "stages": {}}
    run = Run.start(folder, like.manifest.model_copy(update=changed))
    run.stage("measure", lambda work: write_parquet(estimates.table, work / "estimates.parquet"))
    return run


ERRORS = "errors towards the tie"
BEFORE = (ERRORS, "MaxSkew beyond chance", "MaxSkew", "NDKL", "KL of R")
AFTER = (ERRORS, "amplification", "DBA", "KL of accuracy", "accuracy")
COMPARED = (
    [ERRORS, "MaxSkew beyond chance", "NDKL", "KL of R,direction=image-to-text"],
    [ERRORS, "DBA,variant=paper", "KL of accuracy"],
)
"""What the study puts together, as it is named on its command line."""


def measured(
    before: list[Run],
    after: list[Run],
    strengths: list[float],
    place: str,
    out: Path,
    asked: Benchmark,
    folders: dict[str, Path],
) -> None:
    """Write each model's numbers, and how they go with the strength and with each other."""

    def load(run: Run) -> Subject:
        folder = folders.get(run.name)
        return load_subject(run.name) if folder is None else subject(folder)

    rows = []
    for row, strength in enumerate(strengths):
        numbers = {"place": place, "strength": strength}
        for side, runs, metrics in (("before", before, BEFORE), ("after", after, AFTER)):
            for run in runs[2 * row : 2 * row + 2]:
                for name, value in of_gender(run, metrics).items():
                    numbers[f"{name} {side}"] = round(value, 6)
        rows.append(numbers)
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"connector_miniature_{place}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, sorted({name for row in rows for name in row}))
        writer.writeheader()
        writer.writerows(rows)
    print(pl.DataFrame(rows))
    for name in rows[0]:
        values = [row.get(name, np.nan) for row in rows]
        if name not in ("place", "strength") and np.isfinite(values).all() and len(set(values)) > 1:
            rho = spearman_fisher(strengths, values)
            print(
                f"strength and {name}: {rho.value:.2f} [{rho.low:.2f}, {rho.high:.2f}], p {rho.p_value:.4f}"
            )
    named = {"before": COMPARED[0], "after": COMPARED[1]}
    study = transfer(
        before, after, out / "study", settings=TransferSettings.of(named), images=asked.images, load=load
    )
    api.write_report(study)
    print(study.estimates.table.filter(pl.col("metric").str.contains("similarity")))
    for verdict in study.verdicts:
        print(verdict.answer, *verdict.evidence, *verdict.limits, sep="\n")


def of_gender(run: Run, metrics: tuple[str, ...]) -> dict[str, float]:
    """Every number of these metrics that is of gender as a whole, or of nobody in particular."""
    numbers = {}
    for estimate in run.estimates:
        keys = estimate.quantity.keys
        whole = not {"group", "prompt"} & set(keys) and keys.get("attribute", "gender") == "gender"
        if estimate.quantity.metric in metrics and whole:
            numbers[estimate.quantity.label()] = estimate.value
    return numbers


if __name__ == "__main__":
    main()
