"""The Transformer of "Attention Is All You Need" (Vaswani et al. 2017), in the paper's order.

Shapes: source (batch, source) and target (batch, target) are token ids; hidden states are
(batch, source, d_model) and (batch, target, d_model); logits are (batch, target, vocab).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.paper.attention import (
    HEAD_LAYOUTS,
    NOTHING,
    KeyValue,
    MultiHead,
    MultiHeadAttention,
    Relative,
)
from model.paper.config import CHOICES, ConfigError, TransformerConfig
from model.paper.linear import Linear
from model.paper.masks import decoder_allowed, padding_allowed
from model.paper.positions import ENCODINGS

_ROOM = 32
"""Target positions that a decoding cache first has room for."""

decoding_position: ContextVar[int | None] = ContextVar("decoding_position", default=None)
"""The target position that `Transformer.step` computes in this thread; None in every other pass.

Attention over the source cannot tell from its shapes which target position it serves.
"""

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}

CHOICES["activation"] = ACTIVATIONS


class Dropout(nn.Dropout):
    """torch's dropout, but three times as fast on a CPU: one random byte a number, not one float.

    The probability is rounded to 1/256, and what is kept is scaled by what that really keeps.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Any shape, unchanged in eval mode."""
        if not self.training:
            return x
        dropped = round(self.p * 256)
        if x.device.type != "cpu" or not 0 < dropped < 256:
            return super().forward(x)
        size = x.numel()
        words = torch.randint(-(2**63), 2**63 - 1, ((size + 7) // 8,), dtype=torch.int64)
        kept = words.view(torch.uint8)[:size].view(x.shape) >= dropped
        return x * kept * (256 / (256 - dropped))


class FeedForward(nn.Module):
    """max(0, xW_1 + b_1)W_2 + b_2, at each position alone (section 3.3)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.w_1 = Linear(config.d_model, config.d_ff)
        self.w_2 = Linear(config.d_ff, config.d_model)
        self.activation = ACTIVATIONS[config.activation]
        self.dropout = Dropout(config.activation_dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, token, d_model) -> (batch, token, d_model)."""
        return self.w_2(self.dropout(self.activation(self.w_1(x))))


class Residual(nn.Module):
    """What surrounds each sub-layer: a residual connection, dropout and a norm (sections 3.1, 5.4).

    post: LayerNorm(x + Dropout(Sublayer(x))), as in the paper.
    pre: x + Dropout(Sublayer(LayerNorm(x))),
    which trains without a long warm-up (Xiong et al. 2020).
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.d_model, eps=config.layer_norm_eps)
        self.dropout = Dropout(config.dropout)
        self.pre = config.norm == "pre"

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """(batch, token, d_model) -> (batch, token, d_model)."""
        update = sublayer(self.norm(x)) if self.pre else sublayer(x)
        if self.training:
            update = self.dropout(update)
        return x + update if self.pre else self.norm(x + update)


class LayerCache:
    """Keys and values that one decoder layer need not compute again while decoding.

    Attributes:
        cross: keys and values of the sources, (sentence, head, source, width), once for each
            length that they have.
        length: target positions held.
    """

    def __init__(self, cross: list[KeyValue]) -> None:
        self.cross = cross
        self.length = 0
        # (sentence * beam, head, room, width), filled up to `length`.
        self._own: KeyValue | None = None

    def extend(self, key_value: KeyValue) -> KeyValue:
        """Append the newest position and give all of them.

        Args:
            key_value: of one target position, (sentence * beam, head, 1, width).

        Returns:
            of every position so far, (sentence * beam, head, target, width).
        """
        if self._own is None:
            self._own = _with_room(key_value[0], 0), _with_room(key_value[1], 0)
        elif self.length == self._own[0].shape[2]:
            k, v = self._own
            self._own = _with_room(k, self.length), _with_room(v, self.length)
        for own, newest in zip(self._own, key_value, strict=True):
            own[:, :, self.length : self.length + 1] = newest
        self.length += 1
        k, v = self._own
        return k[:, :, : self.length], v[:, :, : self.length]

    def select(self, rows: Tensor) -> None:
        """Keep and order the target's rows: what a beam search does with its hypotheses."""
        if self._own is not None:
            self._own = self._own[0].index_select(0, rows), self._own[1].index_select(0, rows)

    def select_sentences(self, sentences: Sequence[Tensor]) -> None:
        """Keep these sentences' sources, of each length; the others are finished."""
        self.cross = [
            (k.index_select(0, rows), v.index_select(0, rows))
            for (k, v), rows in zip(self.cross, sentences, strict=True)
            if len(rows)
        ]


def _with_room(x: Tensor, length: int) -> Tensor:
    # Room grows by a half at a time: appending in place costs less than copying all at each step.
    rows, heads, _, width = x.shape
    room = x.new_empty(rows, heads, max(_ROOM, length + length // 2), width)
    room[:, :, :length] = x[:, :, :length]
    return room


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward (section 3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = HEAD_LAYOUTS[config.head_layout](config)
        self.self_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x: Tensor, allowed: Tensor | None, relative: Relative = NOTHING) -> Tensor:
        """(batch, source, d_model) -> (batch, source, d_model)."""
        x = self.self_residual(x, lambda y: self.self_attention(y, y, allowed, relative)[0])
        return self.feed_forward_residual(x, self.feed_forward)


def cached(
    attention: MultiHead, cache: LayerCache, relative: Relative
) -> Callable[[Tensor], Tensor]:
    """A self-attention from the newest position to all so far, whose keys and values are kept."""

    def attend(y: Tensor) -> Tensor:
        # Keys are kept turned: the angle is that of their own position.
        q, key_value = attention.project(y, relative.rotation)
        return attention.attend(q, cache.extend(key_value), None, relative.bias)[0]

    return attend


class DecoderLayer(nn.Module):
    """Causal self-attention, attention over the source, then feed-forward (section 3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = HEAD_LAYOUTS[config.head_layout](config)
        self.self_residual = Residual(config)
        self.cross_attention = HEAD_LAYOUTS[config.head_layout](config)
        self.cross_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = Residual(config)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        allowed: Tensor | None,
        memory_allowed: Tensor | None,
        relative: Relative = NOTHING,
    ) -> Tensor:
        """All target positions at once.

        Args:
            x: (batch, target, d_model).
            memory: the encoder's output, (batch, source, d_model).
            allowed: for self-attention, broadcastable to (batch, head, target, target).
            memory_allowed: for cross-attention, broadcastable to (batch, head, target, source).
            relative: what positions do inside self-attention.

        Returns:
            (batch, target, d_model).
        """
        x = self.self_residual(x, lambda y: self.self_attention(y, y, allowed, relative)[0])
        x = self.cross_residual(x, lambda y: self.cross_attention(y, memory, memory_allowed)[0])
        return self.feed_forward_residual(x, self.feed_forward)

    def step(
        self,
        x: Tensor,
        cache: LayerCache,
        memory_allowed: Sequence[Tensor | None],
        relative: Relative = NOTHING,
    ) -> Tensor:
        """The newest target position alone, (sentence * beam, 1, d_model) in and out."""

        def attend_to_source(y: Tensor) -> Tensor:
            # The beams of a sentence become queries over its one copy of the source:
            # (sentence * beam, 1, d_model) -> (sentence, beam, d_model) and back.
            sentences = sum(len(k) for k, _ in cache.cross)
            q = self.cross_attention.project_query(y.reshape(sentences, -1, y.shape[-1]))
            return self.cross_attention.attend_apart(q, cache.cross, memory_allowed).reshape(
                y.shape
            )

        x = self.self_residual(x, cached(self.self_attention, cache, relative))
        x = self.cross_residual(x, attend_to_source)
        return self.feed_forward_residual(x, self.feed_forward)


class Encoder(nn.Module):
    """A stack of encoder layers over embedded source tokens."""

    causal = False

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.positions = ENCODINGS[config.positions].of(config, causal=self.causal)
        self.dropout = Dropout(config.dropout)
        self.layers = nn.ModuleList(self.make_layers(config))
        self.final_norm = _final_norm(config)

    def make_layers(self, config: TransformerConfig) -> Iterable[EncoderLayer]:
        """The layers, from the first one that the tokens meet on."""
        return (EncoderLayer(config) for _ in range(config.n_encoder_layers))

    def forward(self, embedded: Tensor, allowed: Tensor | None) -> Tensor:
        """(batch, source, d_model) -> (batch, source, d_model)."""
        x = self.dropout(self.positions.embed(embedded))
        relative = self.positions.relative(embedded.shape[1])
        for layer in self.layers:
            x = layer(x, allowed, relative)
        return self.final_norm(x)


class Decoder(nn.Module):
    """A stack of decoder layers over embedded target tokens."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.positions = ENCODINGS[config.positions].of(config, causal=True)
        self.dropout = Dropout(config.dropout)
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.n_decoder_layers))
        self.final_norm = _final_norm(config)

    def forward(
        self,
        embedded: Tensor,
        memory: Tensor,
        allowed: Tensor | None,
        memory_allowed: Tensor | None,
        states: list[Tensor] | None = None,
    ) -> Tensor:
        """(batch, target, d_model) -> (batch, target, d_model).

        `states`, if given, gets what each layer gives, before the final norm.
        """
        x = self.dropout(self.positions.embed(embedded))
        relative = self.positions.relative(embedded.shape[1])
        for layer in self.layers:
            x = layer(x, memory, allowed, memory_allowed, relative)
            if states is not None:
                states.append(x)
        return self.final_norm(x)

    def step(
        self,
        embedded: Tensor,
        position: int,
        caches: list[LayerCache],
        memory_allowed: Sequence[Tensor | None],
    ) -> Tensor:
        """One target position, (sentence * beam, 1, d_model) in and out."""
        x = self.dropout(self.positions.embed(embedded, start=position))
        relative = self.positions.relative(1, start=position)
        layers = cast("Iterable[DecoderLayer]", self.layers)
        for layer, cache in zip(layers, caches, strict=True):
            x = layer.step(x, cache, memory_allowed, relative)
        return self.final_norm(x)


class DecodingState:
    """Where a cached decoding stands: the layers' caches and the number of positions fed.

    Rows are hypotheses, sentence * beam of them, the beams of a sentence beside each other.

    Args:
        caches: of each layer.
        memory_allowed: which source tokens may be attended to, once for each length of source;
            None for all.
    """

    def __init__(self, caches: list[LayerCache], memory_allowed: Sequence[Tensor | None]) -> None:
        self.caches = caches
        self.memory_allowed = memory_allowed
        self.position = 0

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """Keep and order hypotheses.

        Args:
            rows: (kept hypotheses,), indices into the present rows.
            sentences: (kept sentences,), ascending indices, or None while every sentence stays.
        """
        for cache in self.caches:
            cache.select(rows)
        if sentences is None:
            return
        kept, start = [], 0
        for k, _ in self.caches[0].cross:
            kept.append(sentences[(sentences >= start) & (sentences < start + len(k))] - start)
            start += len(k)
        for cache in self.caches:
            cache.select_sentences(kept)
        self.memory_allowed = [
            None if allowed is None else allowed.index_select(0, own)
            for allowed, own in zip(self.memory_allowed, kept, strict=True)
            if len(own)
        ]


class Transformer(nn.Module):
    """Token ids in, logits over the next target token out.

    Raises:
        ConfigError: if the configuration is of an encoder or a decoder alone.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        if config.single_stack:
            raise ConfigError(
                f"This is the configuration of {config.single_stack}, and an encoder with a "
                "decoder is wanted here; give both of them layers."
            )
        self.config = config
        self.source_embedding = nn.Embedding(config.vocab_size, config.d_model)
        is_shared = config.tie_embeddings and config.target_vocab_size is None
        if is_shared:
            self.target_embedding = self.source_embedding
        else:
            self.target_embedding = nn.Embedding(config.output_size, config.d_model)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.output = Linear(config.d_model, config.output_size, bias=False)
        initialize(self)
        if config.tie_embeddings:
            self.output.weight = self.target_embedding.weight
        self.tied = ("target_embedding.weight", "output.weight")[0 if is_shared else 1 :]
        """With tied embeddings, names of weights that are another one once more."""

    def forward(self, source: Tensor, target: Tensor, *, causal: bool = True) -> Tensor:
        """A teacher-forced pass: each target position predicts the next token.

        Args:
            source: (batch, source), padded with config.pad_id.
            target: (batch, target), starting with config.bos_id, padded likewise.
            causal: whether the decoder's mask hides later positions. Without it a position sees the
                token that it is to predict.

        Returns:
            logits, (batch, target, vocab).
        """
        return self.output(self.hidden(source, target, causal=causal))

    def hidden(
        self,
        source: Tensor,
        target: Tensor,
        states: list[Tensor] | None = None,
        *,
        causal: bool = True,
    ) -> Tensor:
        """What forward computes before the output projection, (batch, target, d_model).

        `states`, if given, gets what each decoder layer gives, before the final norm.
        """
        source_allowed = padding_allowed(source, self.config.pad_id)
        memory = self.encode(source, source_allowed)
        embedded = self.embed(self.target_embedding, target)
        masked = decoder_allowed if causal else padding_allowed
        allowed = masked(target, self.config.pad_id)
        return self.decoder(embedded, memory, allowed, source_allowed, states)

    def encode(self, source: Tensor, allowed: Tensor | None = None) -> Tensor:
        """The encoder's output, (batch, source, d_model).

        Args:
            source: (batch, source), token ids.
            allowed: broadcastable to (batch, head, source, source); None derives the padding mask.
        """
        if allowed is None:
            allowed = padding_allowed(source, self.config.pad_id)
        return self.encoder(self.embed(self.source_embedding, source), allowed)

    def start(self, *sources: Tensor) -> DecodingState:
        """Encode sources and prepare for decoding one position at a time.

        Args:
            sources: (batch, source) each, token ids. Sentences of different lengths that come as
                sources of their own need no padding, and give what each of them gives alone.
        """
        layers = cast("Iterable[DecoderLayer]", self.decoder.layers)
        allowed = [padding_allowed(source, self.config.pad_id) for source in sources]
        memories = [self.encode(*each) for each in zip(sources, allowed, strict=True)]
        caches = [
            LayerCache([layer.cross_attention.project_key_value(memory) for memory in memories])
            for layer in layers
        ]
        # Sentences of one length need no mask, and no step then spends time on it.
        return DecodingState(caches, [None if bool(mask.all()) else mask for mask in allowed])

    def step(self, tokens: Tensor, state: DecodingState) -> Tensor:
        """Feed one token to every hypothesis.

        Args:
            tokens: (sentence * beam,), the newest token ids.
            state: as `start` or the last step left it; moved on by one position.

        Returns:
            logits for the next token, (sentence * beam, vocab).
        """
        embedded = self.embed(self.target_embedding, tokens[:, None])
        token = decoding_position.set(state.position)
        try:
            x = self.decoder.step(embedded, state.position, state.caches, state.memory_allowed)
        finally:
            decoding_position.reset(token)
        state.position += 1
        return self.output(x[:, 0])

    def embed(self, embedding: nn.Embedding, token_ids: Tensor) -> Tensor:
        """Embeddings, scaled by √d_model where the configuration says so (section 3.4)."""
        embedded = embedding(token_ids)
        return (
            embedded * math.sqrt(self.config.d_model) if self.config.scale_embeddings else embedded
        )


def initialize(model: nn.Module) -> None:
    """Draw the weights of all linear layers and embeddings (Glorot and Bengio 2010)."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
    for module in model.modules():
        if isinstance(module, MultiHeadAttention) and module.fused_qkv:
            # Each projection by its own size, as if they were separate.
            for block in module.blocks():
                nn.init.xavier_uniform_(block)


def _final_norm(config: TransformerConfig) -> nn.Module:
    # A pre-norm stack leaves its last residual sum unnormalized; the paper's does not.
    if config.norm == "post" and not config.final_norm:
        return nn.Identity()
    return nn.LayerNorm(config.d_model, eps=config.layer_norm_eps)
