"""The subjects that come with equiview."""

from typing import Any

from equiview.data.registry import Registry

SUBJECTS: Registry[Any] = Registry("subject", "equiview.subjects", "builtins:type")

PICTOGRAMS = ("skewed", "english", "aligned", "tied", "untied", "scenes", "flags-skewed", "flags-aligned")
"""The embedded encoders."""
PLACES: tuple[tuple[str, ...], ...] = (
    ("chat.answers:AnswersFile", "finished answers, as csv, parquet, json or jsonl", "answers:FILE"),
    (
        "chat.choice:Choice",
        "an encoder that answers by the option most similar to the picture",
        "choice:ENCODER",
        "choice:ENCODER,template=TEXT",
    ),
    (
        "chat.connector:Connector",
        "an encoder joined to a language model by a trained connector: it answers and captions",
        "connector:DIR",
    ),
    (
        "chat.describe:Describe",
        "an encoder that describes what has a name by the pictograms most similar to the name",
        "describe:ENCODER",
        "describe:ENCODER,words=N",
    ),
    ("chat.hf:Captioner", "a captioner of transformers: BLIP, BLIP-2, GIT, ...", "hf-caption:ID_OR_PATH"),
    (
        "chat.hf:QuestionAnswerer",
        "a model of transformers that answers: ViLT, BLIP, BLIP-2, GIT",
        "hf-vqa:ID_OR_PATH",
    ),
    ("chat.inspect_model:InspectModel", "a chat model, by its name in Inspect AI", "chat:INSPECT_MODEL"),
    ("chat.logs:InspectLog", "a finished log of Inspect AI, or a folder of them", "inspect-log:FILE"),
    (
        "chat.names:Names",
        "a translator of lists of pictograms' names into English; comes with equiview",
        "names",
    ),
    (
        "distilled:Distilled",
        "an encoder whose texts a student reads, by `equiview mitigate distill`",
        "distilled:DIR",
    ),
    (
        "encoders.colqwen25:ColQwen25",
        "late interaction on Qwen2.5-VL, with its adapter",
        "colqwen2.5:ID_OR_PATH",
    ),
    (
        "encoders.embeddings:Embeddings",
        "vectors you already have, in a folder of .npy files",
        "embeddings:DIR",
    ),
    ("encoders.gme:Gme", "GME embedders on Qwen2-VL, such as gme-Qwen2-VL-2B-Instruct", "gme:ID_OR_PATH"),
    (
        "encoders.huggingface:HuggingFace",
        "a dual encoder of transformers: CLIP, SigLIP, AltCLIP, BLIP, ...",
        "hf:ID_OR_PATH",
    ),
    (
        "encoders.huggingface:TrustedHuggingFace",
        "as hf, and runs the code that the checkpoint brings",
        "hf-trust:ID_OR_PATH",
    ),
    ("encoders.jina_v4:JinaV4", "jina-embeddings-v4, one vector an item", "jina-v4:ID_OR_PATH"),
    ("encoders.jina_v4:JinaV4Multi", "jina-embeddings-v4, one vector a token", "jina-v4-multi:ID_OR_PATH"),
    ("encoders.late:ColPali", "late interaction on PaliGemma, in transformers' layout", "colpali:ID_OR_PATH"),
    (
        "encoders.late:ColQwen2",
        "late interaction on Qwen2-VL, in transformers' layout",
        "colqwen2:ID_OR_PATH",
    ),
    (
        "encoders.mclip:MultilingualClip",
        "M-CLIP: XLM-R texts in the space of a CLIP image tower",
        "mclip:ID_OR_PATH",
    ),
    ("encoders.mteb_registry:MtebModel", "a model of mteb's registry, loaded as mteb loads it", "mteb:NAME"),
    (
        "encoders.open_clip:OpenClip",
        "a model of OpenCLIP, by its own names or from a folder",
        "open_clip:ARCH,pretrained=TAG",
        "open_clip:ID_OR_FOLDER",
    ),
    (
        "encoders.pictogram:Pictogram",
        "embedded encoder for the pictograms benchmark; comes with equiview",
        *(f"pictogram:{name}" for name in PICTOGRAMS),
    ),
    (
        "encoders.sentence:SentenceTransformers",
        "a model of sentence-transformers, one vector an item",
        "st:ID_OR_PATH",
    ),
    (
        "encoders.sentence:SentenceTransformersMulti",
        "a model of sentence-transformers, one vector a token",
        "st-multi:ID_OR_PATH",
    ),
    (
        "encoders.service:EmbeddingService",
        "an embedding service in the OpenAI shape, images as data URIs",
        "openai:MODEL",
    ),
    (
        "encoders.vsepp:VsePlusPlus",
        "VSE++ with VGG19 and a GRU, from its original checkpoint",
        "vsepp:FOLDER",
    ),
    ("finetuned:FineTuned", "an encoder after fine-tuning by `equiview train finetune`", "finetuned:DIR"),
    ("lists.finished:FinishedRun", "a finished run: lists of any system, of TREC or as a table", "run:FILE"),
    ("lists.lancedb:LanceDB", "lists of a LanceDB table", "lancedb:PLACE,table=NAME,queries=DIR"),
    ("lists.milvus:Milvus", "lists of a Milvus collection", "milvus:PLACE,collection=NAME,queries=DIR"),
    ("lists.pgvector:Pgvector", "lists of a PostgreSQL table", "pgvector:DSN,table=NAME,queries=DIR"),
    ("lists.qdrant:Qdrant", "lists of a Qdrant collection", "qdrant:PLACE,collection=NAME,queries=DIR"),
    (
        "mitigated:Mitigated",
        "an encoder whose vectors are corrected, by `equiview mitigate`",
        "mitigated:DIR",
    ),
    ("reranked:Reranked", "a system's lists in another order, by `equiview mitigate`", "reranked:DIR"),
)

for _where, _about, *_usage in PLACES:
    SUBJECTS.place(f"equiview.subjects.{_where}", _about, *_usage)
