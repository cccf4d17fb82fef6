"""The Transformer of "Attention Is All You Need" (Vaswani et al. 2017), in the paper's order.

3.1 encoder and decoder stacks, here; 3.2 attention, model/paper/attention.py; 3.3 feed-forward and
3.4 embeddings, here; 3.5 positions, model/paper/positions.py; 5.4 dropout, model/paper/dropout.py;
6.1 beam search, model/paper/decoding.py.

Shapes: source (batch, source) and target (batch, target) are token ids; hidden states are
(batch, source, d_model) and (batch, target, d_model); logits are (batch, target, vocab).
"""

import math
from collections.abc import Iterable, Sequence
from typing import cast

from torch import Tensor, nn

from model.paper.config import CHOICES, ConfigError, TransformerConfig
from model.paper.decoding_cache import DecodingState, LayerCache, decoding_position, decoding_tokens
from model.paper.dropout import Dropout
from model.paper.layers import ACTIVATIONS, DecoderLayer, EncoderLayer
from model.paper.linear import Linear
from model.paper.masks import decoder_allowed, padding_allowed
from model.paper.multi_head import MultiHeadAttention
from model.paper.positions import ENCODINGS


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
        """The layers, first to last."""
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

        `states`, if given, collects each layer's output, before the final norm.
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
        """The newest target position, (sentence * beam, 1, d_model) -> the same shape."""
        x = self.dropout(self.positions.embed(embedded, start=position))
        relative = self.positions.relative(1, start=position)
        layers = cast("Iterable[DecoderLayer]", self.layers)
        for layer, cache in zip(layers, caches, strict=True):
            x = layer.step(x, cache, memory_allowed, relative)
        return self.final_norm(x)


def _final_norm(config: TransformerConfig) -> nn.Module:
    # A pre-norm stack leaves its last residual sum unnormalized; the paper's does not.
    if config.norm == "post" and not config.final_norm:
        return nn.Identity()
    return nn.LayerNorm(config.d_model, eps=config.layer_norm_eps)


CHOICES["activation"] = ACTIVATIONS


class Transformer(nn.Module):
    """The whole model (figure 1): token ids in, logits over the next target token out.

    Raises ConfigError if the configuration describes an encoder or a decoder alone.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        if config.single_stack:
            raise ConfigError(
                f"This configuration describes {config.single_stack}, but this model needs an "
                "encoder and a decoder; give both of them layers."
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
        self.output = Linear(config.d_model, config.output_size, bias=config.output_bias)
        initialize(self)
        if config.tie_embeddings:
            self.output.weight = self.target_embedding.weight
        self.tied = ("target_embedding.weight", "output.weight")[0 if is_shared else 1 :]
        """Names of the weights that repeat another one where embeddings are tied."""

    def forward(self, source: Tensor, target: Tensor, *, causal: bool = True) -> Tensor:
        """Logits of a teacher-forced pass, (batch, target, vocab): each position predicts the next.

        Args:
            source: (batch, source), padded with config.pad_id.
            target: (batch, target), starting with config.bos_id, padded likewise.
            causal: whether the decoder's mask hides later positions. Without it, a position sees
                the token it must predict.
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
        """The decoder's output before the output projection, (batch, target, d_model).

        `states`, if given, collects each decoder layer's output, before the final norm.
        """
        source_allowed = padding_allowed(source, self.config.pad_id)
        memory = self.encode(source, source_allowed)
        embedded = self.embed(self.target_embedding, target)
        masked = decoder_allowed if causal else padding_allowed
        allowed = masked(target, self.config.pad_id)
        return self.decoder(embedded, memory, allowed, source_allowed, states)

    def encode(self, source: Tensor, allowed: Tensor | None = None) -> Tensor:
        """The encoder's output, (batch, source, d_model), of (batch, source) token ids.

        The mask is broadcastable to (batch, head, source, source); None masks padding.
        """
        if allowed is None:
            allowed = padding_allowed(source, self.config.pad_id)
        return self.encoder(self.embed(self.source_embedding, source), allowed)

    def start(self, *sources: Tensor) -> DecodingState:
        """The state of a decoding that has written nothing yet, of (batch, source) token ids each.

        Sentences of different lengths, given as separate sources, need no padding and give the
        same as each of them alone.
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
        """Logits for the next token of every hypothesis, (sentence * beam, vocab).

        It takes their newest token ids, (sentence * beam,), and advances the state by one position.
        """
        embedded = self.embed(self.target_embedding, tokens[:, None])
        position = decoding_position.set(state.position)
        read = decoding_tokens.set(state.read(tokens))
        try:
            x = self.decoder.step(embedded, state.position, state.caches, state.memory_allowed)
        finally:
            decoding_tokens.reset(read)
            decoding_position.reset(position)
        state.position += 1
        return self.output(x[:, 0])

    def embed(self, embedding: nn.Embedding, token_ids: Tensor) -> Tensor:
        """Embeddings, times √d_model where the configuration says so (section 3.4)."""
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
            # Each projection by its own size, as separate ones are.
            for block in module.blocks():
                nn.init.xavier_uniform_(block)
