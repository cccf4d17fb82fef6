"""Models of Hugging Face's, opened from a folder on the disk and recorded as they are.

model = load_foreign("opus-mt-en-de")
answer = model.read("The cat sat on the mat.")
answer.trace        what every head did while the model read its own output again

transformers is asked for, and nothing else: no network, none of a folder's own code, and weights
from safetensors alone. It is imported when the first folder is opened.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from model.checkpoints.folder_files import CONFIG, WEIGHTS, own_file, read_json, weights_files
from model.checkpoints.import_hf import PICKLE, is_importable, require_plain, says_model_type
from model.checkpoints.shipped import CheckpointError
from model.checkpoints.weights_digest import provenance_of
from model.trace.text_result import FolderFacts, Purpose, sizes_of
from model.translate.devices import resolve_device
from model.translate.hf_model import ForeignModel, first_line

MOST_LAYERS = 512
MOST_NUMBER = 1 << 22
"""The largest whole number that a configuration may hold: positions and vocabularies have less."""

_TOKENIZERS = (
    *("tokenizer.json", "tokenizer_config.json", "vocab.json", "vocab.txt", "spiece.model"),
    *("sentencepiece.bpe.model", "source.spm", "tokenizer.model", "added_tokens.json"),
)

_WITHOUT_ATTENTION = ("mamba", "mamba2", "falcon_mamba", "rwkv", "fnet", "xlstm")
"""Families whose layers mix tokens by other means."""

_LOCAL = ("led", "longformer", "longt5", "pegasus_x")
"""Families that read a text in windows, whose weights are no map of it."""

_SENSES = ("image_size", "num_channels", "num_mel_bins")
"""What configurations of models of images or sound name in place of a vocabulary."""

_LAYERS = ("layer", "depth")


def is_foreign(directory: Path) -> bool:
    """Whether a folder is a Hugging Face one that only transformers opens."""
    return says_model_type(directory) and not is_importable(directory)


def folder_facts(directory: Path) -> FolderFacts:
    """What a folder says of its model, without transformers; errors as of `read_json`."""
    config = read_json(own_file(directory, CONFIG))
    named = config.get("architectures")
    architecture = named[0] if isinstance(named, list) and named else ""
    if not isinstance(config.get("model_type"), str) or not isinstance(architecture, str):
        raise CheckpointError(
            f"{directory / CONFIG} is damaged: model_type and architectures must be names."
        )
    for name, value in _numbers(config):
        most = MOST_LAYERS if any(part in name for part in _LAYERS) else MOST_NUMBER
        if not -most <= value <= most:
            raise CheckpointError(
                f"{directory / CONFIG} is damaged: {name} is {value:,}, but no model has more "
                f"than {most:,}."
            )
    return FolderFacts(config["model_type"], architecture, sizes_of(config))


def _numbers(content: Any, name: str = "") -> Iterator[tuple[str, int]]:
    if isinstance(content, dict):
        for key, value in content.items():
            yield from _numbers(value, key)
    elif isinstance(content, int) and not isinstance(content, bool):
        yield name, content


def load_foreign(directory: str | os.PathLike[str], *, device: str = "auto") -> ForeignModel:
    """A model from a Hugging Face folder.

    Args:
        directory: a folder with config.json, tokenizer files and model.safetensors or its parts.
        device: "auto", "cpu", "cuda" or "cuda:1".

    Raises:
        CheckpointError: if transformers is not installed, the folder is incomplete or damaged, too
            large for this machine, or needs code of its own.
        DeviceError: if the machine has no such device.
    """
    folder = Path(directory)
    place = resolve_device(device)
    facts = folder_facts(folder)
    if facts.model_type in _WITHOUT_ATTENTION:
        raise CheckpointError(
            f"{folder / CONFIG} is of the family {facts.model_type}, which has no attention to "
            "show; choose a model with attention."
        )
    if facts.model_type in _LOCAL:
        raise CheckpointError(
            f"{folder / CONFIG} is of the family {facts.model_type}, which reads a text in "
            "windows, so its weights are no map of the whole text; choose a model that reads it at "
            "once."
        )
    config = read_json(own_file(folder, CONFIG))
    if "vocab_size" not in config and any(name in config for name in _SENSES):
        raise CheckpointError(
            f"{folder / CONFIG} is of the family {facts.model_type}, which reads images or sound, "
            "but only text models open here; run it in Python inside `with hs.watching()`, which "
            "records it."
        )
    require_plain(folder)
    if not any((folder / name).exists() for name in _TOKENIZERS):
        raise CheckpointError(
            f"The folder {folder} lacks its tokenizer's files, such as tokenizer.json; copy them "
            "from where the model came from."
        )
    stored = _stored_elements(folder)
    transformers = _transformers()
    with _refusing(folder):
        settings = transformers.AutoConfig.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
    task, auto = _class_for(transformers, folder, settings, facts)
    with _refusing(folder):
        with torch.device("meta"):
            outline = auto.from_config(
                settings, trust_remote_code=False, attn_implementation="eager"
            )
        # Of parameters that layers share, one.
        needed = sum(each.numel() for each in outline.parameters())
    _require_memory(folder, needed, stored, place)
    with _refusing(folder):
        loaded, loading_info = auto.from_pretrained(
            folder,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            # Also keeps a configuration from naming a kernel that would be fetched.
            attn_implementation="eager",
            dtype=torch.float32,
            # Those that do not fit are named below.
            ignore_mismatched_sizes=True,
            output_loading_info=True,
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
    for name, stored_shape, own_shape in sorted(loading_info["mismatched_keys"]):
        stored_size, own_size = (" × ".join(map(str, each)) for each in (stored_shape, own_shape))
        raise CheckpointError(
            f"The weights in {folder} do not fit its {CONFIG}: {name} is {stored_size}, and by the "
            f"configuration {own_size}; take both files from one copy of the model."
        )
    # What pools a text into one vector reads no attention.
    missing = sorted(name for name in loading_info["missing_keys"] if "pooler" not in name)
    if missing:
        raise CheckpointError(
            f"The weights in {folder} are incomplete: {missing[0]} and "
            f"{len(missing) - 1} others are missing; copy the folder again."
        )
    for name, parameter in loaded.named_parameters():
        if not parameter.isfinite().all():
            raise CheckpointError(
                f"The weights in {folder} are damaged: {name} contains NaN or infinity."
            )
    return ForeignModel(
        loaded.to(place).eval(), tokenizer, task, facts, place, provenance_of(folder)
    )


def save_without_pickle(directory: Path) -> Path:
    """Write the weights of a folder's pytorch_model.bin beside it as model.safetensors.

    A .bin file is a pickle. torch reads it with what runs code left out, which is safer and no
    promise: whoever calls this trusts its author.

    Returns:
        the file that was written.

    Raises:
        CheckpointError: if there is no such file, or it holds something else than tensors.
        OSError: if the file cannot be written.
    """
    source, written = own_file(directory, PICKLE), own_file(directory, WEIGHTS)
    if not source.exists():
        raise CheckpointError(f"There is no {source}; name a folder that holds one.")
    if written.exists():
        raise CheckpointError(f"{written} exists already; there is nothing to do.")
    try:
        state = torch.load(source, map_location="cpu", weights_only=True)
    except Exception as error:
        raise CheckpointError(f"{source} is damaged, or does not hold tensors.") from error
    if not isinstance(state, dict) or not all(
        isinstance(name, str) and isinstance(each, torch.Tensor) for name, each in state.items()
    ):
        raise CheckpointError(f"{source} does not hold tensors by name.")
    # Tensors that share memory are written once each.
    save_file(
        {name: each.contiguous().clone() for name, each in state.items()},
        written,
        metadata={"format": "pt"},
    )
    return written


def _transformers() -> Any:
    """The library, told to fetch nothing; CheckpointError if it is not installed."""
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
    try:
        import transformers
    except ImportError as error:
        raise CheckpointError(
            "Hugging Face folders need the library transformers, which is not installed here; run "
            "pip install transformers."
        ) from error
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers


def _stored_elements(folder: Path) -> int:
    """How many numbers the weights files hold, by their headers alone."""
    total = 0
    for path in weights_files(folder):
        try:
            with safe_open(path, framework="pt") as opened:
                for key in opened.keys():  # noqa: SIM118 – no mapping
                    total += int(np.prod(opened.get_slice(key).get_shape(), dtype=np.int64))
        except OSError as error:
            raise CheckpointError(f"The folder {folder} lacks a readable {path.name}.") from error
        except SafetensorError as error:
            raise CheckpointError(f"{path} is damaged: it is not a safetensors file.") from error
    return total


def _class_for(
    transformers: Any, folder: Path, settings: Any, facts: FolderFacts
) -> tuple[Purpose, Any]:
    """What a model does, and which of transformers' classes opens it."""
    known = transformers.models.auto.modeling_auto
    heads = (
        (Purpose.TRANSLATE, "SEQ_TO_SEQ_CAUSAL_LM", transformers.AutoModelForSeq2SeqLM),
        (Purpose.CONTINUE, "CAUSAL_LM", transformers.AutoModelForCausalLM),
        (Purpose.FILL, "MASKED_LM", transformers.AutoModelForMaskedLM),
    )
    for task, name, auto in heads:
        classes = getattr(known, f"MODEL_FOR_{name}_MAPPING_NAMES")
        if facts.architecture and classes.get(facts.model_type) == facts.architecture:
            return task, auto
    if settings.is_encoder_decoder:
        raise CheckpointError(
            f"{folder} holds {facts.architecture or 'a model'} of the family {facts.model_type}, "
            "but of models with encoder and decoder, Headscope opens only those that turn text "
            "into text."
        )
    return Purpose.READ, transformers.AutoModel


def _require_memory(folder: Path, needed: int, stored: int, device: torch.device) -> None:
    # Some tables, such as those of positions, are computed and not stored.
    if needed > 2 * stored + (1 << 24):
        raise CheckpointError(
            f"{folder} is damaged: its configuration describes {needed:,} parameters, but its "
            f"weights have {stored:,}."
        )
    # As float32; on the way to a GPU, in this machine's memory as well.
    free = free_bytes()
    if device.type == "cuda":
        free = min(free, torch.cuda.mem_get_info(device)[0])
    if 4 * max(needed, stored) > free:
        raise CheckpointError(
            f"{folder} needs {4 * max(needed, stored) / 2**30:.1f} GiB of memory and "
            f"{free / 2**30:.1f} GiB are free; close other programs, or choose a smaller model."
        )


def free_bytes() -> int:
    """What is left of this machine's memory; where a system does not say, all that it has."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            memory = dict(line.split(":", 1) for line in lines)
        return int(memory["MemAvailable"].split()[0]) << 10
    except (OSError, KeyError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def _refusing(folder: Path) -> Iterator[None]:
    """Says in a sentence what transformers makes of a folder that it cannot open."""
    try:
        yield
    except MemoryError:
        raise
    # Whatever is written in a folder, any of its classes may raise.
    except Exception as error:
        raise CheckpointError(
            f"transformers cannot open the folder {folder}: {first_line(error)}"
        ) from error
