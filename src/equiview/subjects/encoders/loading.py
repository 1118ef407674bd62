"""Models, tokenizers and weights from the files of a checkpoint, with errors of one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from equiview.errors import InputError
from equiview.extras import require
from equiview.subjects.encoders.checkpoint import Checkpoint

VOCABULARIES = (
    *("tokenizer.json", "vocab.json", "vocab.txt", "tokenizer.model"),
    *("sentencepiece.bpe.model", "spiece.model", "spm.model"),
)


def state_of(path: Path) -> dict[str, Any]:
    """The tensors of a weight file by name; a pickle is read as data alone, so that it cannot run code."""
    torch = require("torch", "hf")
    with failures(f"{path}: cannot be read as weights"):
        if path.suffix == ".safetensors":
            state = require("safetensors.torch", "hf").load_file(path)
        else:
            state = torch.load(path, map_location="cpu", weights_only=True)
    for key in ("state_dict", "model"):
        if isinstance(state.get(key), dict):
            state = state[key]
    return {name.removeprefix("module."): value for name, value in state.items()}


def filled(model: Any, state: Mapping[str, Any], where: Any) -> Any:
    """Return `model` with the weights of `state`; InputError for one that is missing or of another shape."""
    expected = model.state_dict()
    missing = [name for name in expected if name not in state]
    wrong = [name for name in expected if name in state and expected[name].shape != state[name].shape]
    loaded(model, {"missing_keys": missing, "mismatched_keys": wrong}, where)
    model.load_state_dict({name: state[name] for name in expected})
    return model


def loaded(model: Any, info: Mapping[str, Any], where: Any) -> Any:
    """Return `model` if its checkpoint held every weight; a partly random model measures nothing."""
    missing = sorted(
        name for name in info["missing_keys"] if not name.endswith(("position_ids", "rotary_emb.inv_freq"))
    )
    wrong = sorted(str(entry) for entry in info.get("mismatched_keys", ()))
    kind = model if isinstance(model, type) else type(model)
    for what, names in (("has no weights for", missing), ("has weights of another shape for", wrong)):
        if names:
            raise InputError(
                f"{where}: the checkpoint {what} {len(names)} parts of {kind.__name__}, such as "
                f"{names[0]}; is it of another kind, or incomplete?"
            )
    return model


def tokenizer_of(checkpoint: Checkpoint, kind: Any = None, **settings: Any) -> Any:
    """The tokenizer of a checkpoint; InputError when it has no vocabulary, which the library accepts."""
    checkpoint.need(*VOCABULARIES)
    kind = kind or require("transformers", "hf").AutoTokenizer
    return from_files(kind, checkpoint.folder, **settings)


def preprocessing_of(checkpoint: Checkpoint, kind: Any, **settings: Any) -> Any:
    """The image preprocessing of a checkpoint; InputError when it has no file for it."""
    checkpoint.need("preprocessor_config.json", "processor_config.json")
    return from_files(kind, checkpoint.folder, **settings)


def from_files(kind: Any, folder: Path | None, **settings: Any) -> Any:
    """`kind.from_pretrained(folder)`, without its progress bars; InputError when it cannot be loaded.

    With `folder` None the weights are among the settings, as `state_dict`.
    """
    with failures(f"{folder}: {kind.__name__} cannot be loaded from it"), library_bars_off():
        return kind.from_pretrained(folder and str(folder), **settings)


def whole_model(kind: Any, folder: Path, **settings: Any) -> Any:
    """The model of a checkpoint by `kind.from_pretrained`, if every weight is there."""
    model, info = from_files(kind, folder, output_loading_info=True, **settings)
    return loaded(model, info, folder)


@contextmanager
def every_weight(where: Any, unused: tuple[str, ...] = ()) -> Iterator[None]:
    """Within, a library that loads models of transformers is refused one that lacks weights (InputError).

    Weights whose names begin as one of `unused` may be missing.
    """
    base = require("transformers", "hf").PreTrainedModel
    plain = vars(base)["from_pretrained"]

    def checked(kind: Any, /, *arguments: Any, output_loading_info: bool = False, **settings: Any) -> Any:
        model, info = plain.__func__(kind, *arguments, output_loading_info=True, **settings)
        needed = [name for name in info["missing_keys"] if not name.startswith(unused)]
        loaded(model, dict(info) | {"missing_keys": needed}, where)
        return (model, info) if output_loading_info else model

    base.from_pretrained = classmethod(checked)
    try:
        yield
    finally:
        base.from_pretrained = plain


def reason_of(error: BaseException) -> str:
    """The first line of a library's error, or the name of its class."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


@contextmanager
def failures(what: str) -> Iterator[None]:
    """Within, whatever a library raises becomes an InputError that begins with `what`."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # a broken file fails in as many ways as there are libraries that read it
        raise InputError(f"{what} ({reason_of(error)})") from error


@contextmanager
def library_notes_off() -> Iterator[None]:
    """Silence the notes and warnings of transformers; errors are raised."""
    logging = require("transformers.utils.logging", "hf")
    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)


@contextmanager
def library_bars_off() -> Iterator[None]:
    """Silence the progress bars of transformers, which would overwrite ours."""
    logging = require("transformers.utils.logging", "hf")
    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if bars:
            logging.enable_progress_bar()
