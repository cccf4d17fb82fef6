"""The vocabulary and the weights a training run starts with."""

import argparse
import dataclasses
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import torch
from torch import Tensor

from model.checkpoints.checkpoint import Checkpoint
from model.paper.config import TransformerConfig
from model.paper.tokenizer import Tokenizer
from model.survey.parallel_text import Pair
from model.training.capitals import capitalized
from model.training.names import renamed
from model.training.nouns import with_other_nouns
from model.training.settings import SettingsError, TrainingSettings
from model.training.typed import typed


def make_tokenizer(settings: TrainingSettings, pairs: list[Pair]) -> Tokenizer:
    """A vocabulary trained on the pairs, or one for each side."""
    # A word in one of a thousand sentences becomes a piece of any useful vocabulary.
    words = settings.words.split() * (len(pairs) // 1000 + 1)
    pairs = varied(pairs, settings, settings.seed)

    def trained(texts: Iterable[str]) -> Tokenizer:
        return Tokenizer.train(
            chain(texts, words),
            settings.vocab_size,
            model_type=settings.tokenizer,
            apostrophes=settings.apostrophes,
        )

    if not settings.separate_vocabularies:
        return trained(text for pair in pairs for text in pair)
    source, target = (trained(pair[side] for pair in pairs) for side in (0, 1))
    return Tokenizer(source.serialized, target)


def require_sides(
    tokenizer: Tokenizer, settings: TrainingSettings, arguments: argparse.Namespace
) -> None:
    """Raises SettingsError if a checkpoint's vocabularies are too many, or too few to keep."""
    has_two, wants_two = tokenizer.target is not tokenizer, settings.separate_vocabularies
    if has_two and not wants_two:
        raise SettingsError(
            f"The model of {arguments.checkpoint} has a vocabulary for each side; give --set "
            "training.separate_vocabularies=true, or leave --checkpoint out."
        )
    if wants_two and not has_two and not arguments.new_vocabulary:
        raise SettingsError(
            f"The model of {arguments.checkpoint} has one vocabulary for both sides; add "
            "--new-vocabulary, or leave separate_vocabularies out."
        )


def varied(pairs: list[Pair], settings: TrainingSettings, seed: int) -> list[Pair]:
    """The pairs with other nouns, names and capitals, and as people type, as the settings say."""
    pairs = with_other_nouns(pairs, settings.noun_copies, seed)
    pairs = capitalized(renamed(pairs, settings.rename_share, seed), settings.capital_share, seed)
    other = settings.typed_language
    languages = (other, "en") if settings.reverse else ("en", other)
    return typed(pairs, settings.typed_share, seed, languages=languages)


def carried_over(state: dict[str, Tensor], old: Tokenizer, new: Tokenizer) -> dict[str, Tensor]:
    """A model's weights for another vocabulary (Mosin et al. 2021, "Vocabulary Transfer").

    Embeddings and output get a row for each new piece: the mean of the old pieces that spell it, or
    the old piece of the same word in lower case. Both vocabularies bring their target's, if any.
    """
    source, target = "source_embedding.weight", "target_embedding.weight"
    moved = dict(state)
    if new.target is not new:
        # One matrix served both.
        moved.setdefault(target, state[source])
    sides = {source: (old, new)} | dict.fromkeys(
        (target, "output.weight"), (old.target, new.target)
    )
    for name, (before, after) in sides.items():
        if name in moved:
            moved[name] = _respelled(moved[name], before, after)
    return moved


def _respelled(table: Tensor, old: Tokenizer, new: Tokenizer) -> Tensor:
    spellings = (
        min(map(old.spelling, (piece, piece.lower())), key=len)
        for piece in new.pieces(range(len(new)))
    )
    return torch.stack([table[ids].mean(dim=0) for ids in spellings])


def config_to_go_on(
    wanted: TransformerConfig, start: Checkpoint, origin: Path
) -> TransformerConfig:
    """The configuration of a checkpoint's model, with the training of the wanted one.

    A model of fewer layers starts with the first layers of the checkpoint's. Raises SettingsError
    if layers of the two compute different functions.
    """
    trained = start.model.config
    # These change training or layout, not the function.
    alike = dataclasses.replace(
        trained,
        dropout=wanted.dropout,
        fused_attention=wanted.fused_attention,
        vocab_size=wanted.vocab_size,
        target_vocab_size=wanted.target_vocab_size,
        n_encoder_layers=min(wanted.n_encoder_layers, trained.n_encoder_layers),
        n_decoder_layers=min(wanted.n_decoder_layers, trained.n_decoder_layers),
    )
    laid_out = dataclasses.replace(wanted, fused_qkv=trained.fused_qkv)
    for field in dataclasses.fields(alike):
        mine, theirs = getattr(laid_out, field.name), getattr(alike, field.name)
        if mine != theirs:
            raise SettingsError(
                f"The model of {origin} has {field.name} {theirs!r}, the configuration {mine!r}; "
                f"give --set model.{field.name}={theirs}, or leave --checkpoint out."
            )
    return alike
