"""Small synthetic copies of published data sets, in their true layouts."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import polars as pl
from PIL import Image


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    Image.new("RGB", (2, 2), "red").save(buffer, "JPEG")
    path.write_bytes(buffer.getvalue())


def text(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    encoded = content.encode()
    path.write_bytes(gzip.compress(encoded) if path.suffix == ".gz" else encoded)


def data(path: Path, content: object) -> None:
    text(path, json.dumps(content, ensure_ascii=False))


def lines(path: Path, *rows: object) -> None:
    text(path, "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))


def xm3600(place: Path) -> None:
    for key in ("00aa", "00bb"):
        picture(place / "images" / f"{key}.jpg")
    lines(
        place / "captions.jsonl",
        *(
            {
                "image/key": key,
                "image/locale": locale,
                **{
                    code: {
                        "caption": [f"{code} {n} of {key}" for n in range(count)],
                        "caption/tokenized": [],
                        "caption/tokenized/lowercase": [],
                    }
                    for code, count in (("en", 2), ("fr", 3), ("sw", 1))
                },
            }
            for key, locale in (("00aa", "fr"), ("00bb", "sw"))
        ),
    )


def knowrecall(place: Path) -> None:
    """Two questions about each of three landmarks, in three languages; `en_sub` is a part of English."""
    content = io.BytesIO()
    Image.new("RGB", (2, 2), "red").save(content, "PNG")
    for language in ("ar", "en", "fr", "en_sub"):
        rows = [
            {
                "question": f"{language} question {n} about {landmark}?",
                "options": [f"{language} {place} {n}" for place in ("one", "two", "three", "four")],
                "answer": f"{language} {('one', 'two', 'three', 'four')[(landmark + n) % 4]} {n}",
                "image": {"bytes": content.getvalue(), "path": None},
                "landmark_id": landmark,
                "domestic_language_code": ("ar", "en", "fr")[landmark],
            }
            for landmark in range(3)
            for n in range(1 if language == "en_sub" else 2)
        ]
        path = place / "data" / f"{language}-00000-of-00001.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pl.DataFrame(rows).write_parquet(path)


def multi30k(place: Path) -> None:
    lines(place / "data/task1/image_splits/test_2016_flickr.txt", "11.jpg", "22.jpg", "33.jpg")
    for code in ("en", "de", "fr", "cs"):
        # A line separator inside a caption is no end of line.
        lines(place / f"data/task1/raw/test_2016_flickr.{code}.gz", *(f"{code}\u2028{n}" for n in range(3)))
        text(place / f"data/task1/tok/test_2016_flickr.lc.norm.tok.{code}", "not\nread\n")
    for code in ("en", "de"):
        for slot in range(1, 6):
            lines(
                place / f"data/task2/raw/test_2016.{slot}.{code}.gz",
                *(f"{code} {n} {slot}" for n in range(3)),
            )


def karpathy(names: dict[str, str], **more: dict) -> dict:
    return {
        "images": [
            {
                "filename": name,
                "split": split,
                "sentences": [{"raw": f"{name} {n}", "tokens": [], "sentid": n} for n in range(5)],
                **more.get(Path(name).stem, {}),
            }
            for name, split in names.items()
        ]
    }


def flickr30k(place: Path) -> None:
    names = {"11.jpg": "test", "22.jpg": "test", "33.jpg": "train", "44.jpg": "val"}
    data(place / "dataset_flickr30k.json", karpathy(names))
    for name in names:
        picture(place / "flickr30k-images" / name)


def entities(place: Path, image: str, sentence: str) -> None:
    """Flickr30K Entities of an image: five times the same sentence, `{n}` its number; entity 5 has a box."""
    lines(place / f"Sentences/{image}.txt", *(sentence.replace("{n}", str(n)) for n in range(5)))
    box = "<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>5</xmax><ymax>8</ymax></bndbox>"
    none = "<object><name>7</name><nobndbox>1</nobndbox></object>"
    text(
        place / f"Annotations/{image}.xml",
        f"<annotation><object><name>5</name>{box}</object>{none}</annotation>",
    )


def coco(place: Path) -> None:
    def entry(number, split):
        return {"cocoid": number, "filepath": split}

    names = {f"COCO_val2014_{n:012d}.jpg": "test" for n in (1, 2)} | {
        "COCO_train2014_000000000003.jpg": "train"
    }
    more = {Path(name).stem: entry(int(name[-16:-4]), name.split("_")[1]) for name in names}
    data(place / "dataset_coco.json", karpathy(names, **more))
    for name in names:
        picture(place / name.split("_")[1] / name)
    coco_annotations(place, "val2014", [1, 2])


def coco_annotations(place: Path, split: str, numbers: list[int]) -> None:
    images = [{"id": n, "file_name": f"COCO_{split}_{n:012d}.jpg"} for n in numbers]
    captions = [{"id": 10 * n + m, "image_id": n, "caption": f"{n} {m}\n"} for n in numbers for m in range(2)]
    data(place / f"annotations/captions_{split}.json", {"images": images, "annotations": captions})
    data(
        place / f"annotations/instances_{split}.json",
        {
            "images": [*images, {"id": 999}],
            "categories": [{"id": 1, "name": "person", "supercategory": "person"}, {"id": 18, "name": "dog"}],
            "annotations": [
                {
                    "id": 1,
                    "image_id": 1,
                    "category_id": 1,
                    "bbox": [1, 2, 30, 40],
                    "area": 900.5,
                    "iscrowd": 0,
                },
                {"id": 2, "image_id": 1, "category_id": 18, "bbox": [0, 0, 3, 4], "area": 12, "iscrowd": 1},
                {"id": 3, "image_id": 999, "category_id": 1, "bbox": [0, 0, 1, 1], "area": 1, "iscrowd": 0},
            ],
        },
    )


def xtd(place: Path) -> None:
    names = [f"COCO_train2014_{n:012d}.jpg" for n in (5, 6)]
    lines(place / "XTD10/test_image_names.txt", *names)
    for folder, code in (("XTD10", "es"), ("MIC", "en"), ("STAIR", "jp")):
        lines(place / folder / f"test_1kcaptions_{code}.txt", f"{code} one", f"{code} two")
    for name in names:
        picture(place / "train2014" / name)


def xflickrco(place: Path) -> None:
    for code in ("de", "zh"):
        lines(
            place / f"annotations/{code}/test.jsonl",
            {"sentences": [f"{code} a"], "id": "11", "img_path": "11.jpg"},
            {"sentences": [f"{code} b"], "id": "7", "img_path": "COCO_val2014_000000000007.jpg"},
        )
        lines(place / f"annotations/{code}/train_1.jsonl", {"not": "read"})
    picture(place / "flickr30k-images/11.jpg")
    picture(place / "val2014/COCO_val2014_000000000007.jpg")


def fairface(place: Path) -> None:
    text(
        place / "fairface_label_val.csv",
        "file,age,gender,race,service_test\n"
        "fairface/val/1.jpg,3-9,Male,East Asian,False\nval/2.jpg,more than 70,Female,Latino_Hispanic,True\n",
    )
    for n in (1, 2):
        picture(place / "val" / f"{n}.jpg")


def geode(place: Path) -> None:
    """Two pictures of each of four objects, from five countries in three regions."""
    rows = []
    countries = {
        "Egypt": "Africa",
        "Japan": "EastAsia",
        "Italy": "Europe",
        "Spain": "Europe",
        "China": "EastAsia",
    }
    for number, name in enumerate(("hand_soap", "dog", "stove", "plate_of_food")):
        for country, region in countries.items():
            file = f"{number:03}.{name}/{region}_{country}_{name}_1.jpg"
            rows.append(f"{file},{name},{region},{country}")
            picture(place / "images" / file)
    lines(place / "index.csv", "file_path,object,region,ip_country", *rows)


def dollarstreet(place: Path) -> None:
    """The full table and that of ImageNet's test images."""
    head = "id,country.name,country.id,region.id,type,imageRelPath,topics,place,income"
    homes = {"Burundi": ("bi", "af", "26.99"), "India": ("in", "as", "245.5"), "Peru": ("pe", "am", "1250")}
    rows = []
    for number, (country, (code, region, income)) in enumerate(homes.items()):
        for kind, topics in (("a", "['stoves']"), ("b", "['beds', \"kids' beds\"]"), ("c", '[""soap""]')):
            name = f"5d4b{number}{kind}"
            listed = topics if topics.startswith('[""') else topics.replace('"', '""')
            file = f"assets/{name}/{name}.jpg"
            rows.append(f'{name},{country},{code},{region},image,{file},"{listed}",homes,{income}')
            picture(place / "dataset_dollarstreet" / file)
    lines(place / "dataset_dollarstreet/images_v2.csv", head, *rows)
    lines(place / "dataset_dollarstreet/images_v2_imagenet_test.csv", head, *rows[::2])


def phase(place: Path) -> None:
    def person(region, gender):
        traits = {"age": "adult", "gender": gender, "skintone": "lighter", "ethnicity": "white",
                  "emotion": "neutral", "activity": "work"}  # fmt: skip
        return {"region": region, "annotations": traits}

    data(
        place / "phase_gcc_val_regions_20221101.json",
        {
            "101": {
                "caption": "two at work",
                "person0": person("[1,2,3,4]", "male"),
                "person1": person([5, 6, 7, 8], "female"),
            },
            "102": {"caption": "one at work", "person0": person("[0, 0, 9, 9]", "female")},
        },
    )  # fmt: skip
    picture(place / "phase_images/val/101.png")
    picture(place / "phase_images/val/102.jpg")


def coco_people(place: Path) -> None:
    text(
        place / "images_val2014.csv",
        "id,skin,ratio,bb_skin,bb_gender,split\n"
        "1,\"['Light']\",[0.2],Light,Male,train\n"
        '2,"[\'Dark\', nan]","[0.1, 0.3]",Both,Unsure,val\n'
        "3,[nan],[0.1],,,val\n",
    )
    for n in (1, 2, 3):
        picture(place / f"val2014/COCO_val2014_{n:012d}.jpg")
    coco_annotations(place, "val2014", [1, 2, 3, 4])


def visrecall(place: Path) -> None:
    titles = {"1": ("Blue_Tower", "Blauer_Turm"), "2": ("Red Gate", "Rotes Tor")}
    landmarks = [
        {
            "landmark_id": int(landmark),
            "domestic_language_code": region,
            "wikipedia_en": en,
            "wikipedia_de": de,
        }
        for (landmark, (en, de)), region in zip(titles.items(), ("de", "en"), strict=True)
    ]
    data(place / "landmark_list.json", landmarks)
    data(place / "image_list.json", {"1": ["a.jpg", "b.jpg"], "2": ["a.jpg"]})
    for name in ("1/a", "1/b", "2/a"):
        picture(place / f"images/{name}.jpg")


def vqav2(place: Path) -> None:
    questions = [
        {"image_id": image, "question": f"what is {number}?", "question_id": number}
        for image, number in ((1, 1000), (1, 1001), (2, 2000))
    ]
    data(place / "v2_OpenEnded_mscoco_val2014_questions.json", {"questions": questions})
    annotations = [
        {
            "question_id": entry["question_id"], "image_id": entry["image_id"], "question_type": "what is",
            "answer_type": "other", "multiple_choice_answer": "dog",
            "answers": [
                {"answer": "dog" if n else "cat", "answer_confidence": "yes", "answer_id": n + 1}
                for n in range(10)
            ],
        }
        for entry in questions
    ]  # fmt: skip
    data(place / "v2_mscoco_val2014_annotations.json", {"annotations": annotations})
    for n in (1, 2):
        picture(place / f"val2014/COCO_val2014_{n:012d}.jpg")


LAYOUTS = {
    "coco": coco,
    "coco-people": coco_people,
    "fairface": fairface,
    "geode": geode,
    "dollarstreet": dollarstreet,
    "flickr30k": flickr30k,
    "knowrecall": knowrecall,
    "multi30k": multi30k,
    "phase": phase,
    "visrecall": visrecall,
    "vqav2": vqav2,
    "xflickrco": xflickrco,
    "xm3600": xm3600,
    "xtd": xtd,
}
