"""How a Hugging Face model writes: generation_config.json as a search and as barred tokens."""

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

from model.checkpoints.folder_files import CONFIG, own_file, read_json
from model.checkpoints.shipped import CheckpointError
from model.paper.search import AS_IN_THE_PAPER, DecodingError, Rules, Search

GENERATION = "generation_config.json"

_ENDS = {None: "present", False: "present", True: "full", "never": "worst"}
"""Their early_stopping, by our name."""

_UNFOLLOWED: Mapping[str, tuple[object, ...]] = {
    "do_sample": (False,),
    "num_beam_groups": (1,),
    "diversity_penalty": (0,),
    "repetition_penalty": (1,),
    "encoder_repetition_penalty": (1,),
    "no_repeat_ngram_size": (0,),
    "encoder_no_repeat_ngram_size": (0,),
    "min_length": (0, 1),
    "min_new_tokens": (0, 1),
    "begin_suppress_tokens": ([],),
    "sequence_bias": (),
    "exponential_decay_length_penalty": (),
    "force_words_ids": (),
    "constraints": (),
}
"""Settings that our searches do not follow, each with what changes nothing besides None."""


def generation_settings(directory: Path) -> Mapping[str, Any]:
    """What a folder says of how its model writes; older folders say it in config.json."""
    path = own_file(directory, GENERATION)
    return read_json(path if path.exists() else own_file(directory, CONFIG))


def unfollowed(settings: Mapping[str, Any]) -> str:
    """Which of the settings our searches do not follow, in words; empty if none."""
    for name, harmless in _UNFOLLOWED.items():
        if settings.get(name) is not None and settings[name] not in harmless:
            return f"it writes with {name} {shortened(settings[name])}"
    if any(len(each) > 1 for each in _words(settings.get("bad_words_ids"))):
        return "its bad_words_ids bar sequences of tokens"
    if settings.get("early_stopping") not in _ENDS:
        return f"its early_stopping is {shortened(settings['early_stopping'])}"
    penalty = settings.get("length_penalty")
    if isinstance(penalty, int | float) and penalty < 0:
        return f"its length_penalty is {penalty}, below 0"
    return ""


def barred_by(settings: Mapping[str, Any]) -> set[int]:
    """The tokens that the settings bar."""
    listed = _words(settings.get("bad_words_ids")), _words([settings.get("suppress_tokens")])
    return {*chain(*chain(*listed))}


def _words(listed: Any) -> Iterator[list[int]]:
    for word in listed if isinstance(listed, list) else ():
        if isinstance(word, list) and all(type(each) is int for each in word):
            yield word


def own_search(directory: Path) -> Search:
    """How the model in a folder writes: the paper's search unless there is a GENERATION.

    Raises:
        CheckpointError: if a setting has an impossible value.
    """
    if not own_file(directory, GENERATION).exists():
        return AS_IN_THE_PAPER
    settings = {k: v for k, v in generation_settings(directory).items() if v is not None}
    most = settings.get("max_new_tokens")
    if most is None and "max_length" in settings:
        # Theirs counts the start token.
        most = settings["max_length"] - 1 if type(settings["max_length"]) is int else "max_length"
    if most is not None and (type(most) is not int or most < 1):
        raise CheckpointError(
            f"{directory / GENERATION} is damaged: max_length and max_new_tokens must be numbers "
            "that leave room for a token."
        )
    try:
        return Search(
            beam=settings.get("num_beams", 1),
            length_penalty=settings.get("length_penalty", 1.0),
            rules=Rules(
                penalty="power",
                ends=_ENDS[settings.get("early_stopping")],
                renormalized=settings.get("renormalize_logits") is True,
                forced_end="forced_eos_token_id" in settings,
                most=most,
            ),
        )
    except DecodingError as error:
        raise CheckpointError(f"{directory / GENERATION} is damaged: {error}") from error
