"""A translator from a checkpoint: translations, traces, and what the model computes inside."""

from dataclasses import replace
from os import PathLike
from typing import Self, cast

import numpy as np
import torch

from model.arguments import checked, checked_methods
from model.checkpoints.checkpoint import load_checkpoint, longest_trained
from model.checkpoints.shipped import checkpoint_folder
from model.checkpoints.weights_digest import provenance_of
from model.paper.encoding import LengthError
from model.paper.layers import EncoderLayer
from model.paper.log_probs import unsayable
from model.record.intervention import UNCHANGED, Intervention, PositionError, Side
from model.record.mask_editing import intervening
from model.record.recording import recording
from model.record.score_terms import score_terms
from model.trace.attention_map import AttentionKind, FloatArray, Site
from model.trace.logit_lens import LogitLens
from model.trace.terms import EmbeddingParts, HeadMatrices, ScoreTerms
from model.trace.trace import Trace
from model.translate.devices import resolve_device, resolve_dtype
from model.translate.tracing import TracedModel


@checked_methods
class Translator(TracedModel):
    """A model with its vocabulary and device: text in, translations and traces out."""

    def to(
        self,
        device: str | torch.device | None = None,
        *,
        dtype: str | torch.dtype | None = None,
    ) -> Self:
        """The translator itself, moved to a device, with its numbers of another type.

        Raises DeviceError as `load` does.
        """
        place = self.device if device is None else resolve_device(device)
        numbers = None if dtype is None else resolve_dtype(dtype)
        self.model.to(place, numbers)
        self.device, self.folder = place, self.folder if dtype is None else None
        return self

    @torch.inference_mode()
    def logit_lens(self, trace: Trace, *, under: Intervention = UNCHANGED) -> LogitLens:
        """The model's predictions at every step if it stopped after each decoder layer.

        The model runs again on the trace's tokens, under the intervention of the trace.
        """
        source, target, predictions = self.trace_ids(trace)
        states: list[torch.Tensor] = []
        # Recorded, so that attention is computed as it was for the trace.
        with intervening([under], exact=False, sites=self.sites), recording():
            self.model.hidden(source, target, states)
        of_layers = []
        for state in states:
            logits = self.model.output(self.model.decoder.final_norm(state))
            log_probs = logits[0].float().log_softmax(dim=-1)
            own = log_probs.gather(1, predictions[0, :, None])
            sayable = log_probs + unsayable(self.model.config, self.device)
            best, likeliest = sayable.max(dim=-1)
            ranks = 1 + (sayable > own).sum(dim=-1)
            of_layers.append([x.cpu().numpy() for x in (own[:, 0], ranks, best, likeliest)])
        log_probs, ranks, best, likeliest = map(np.stack, zip(*of_layers, strict=True))
        return LogitLens(
            tokens=trace.predictions,
            log_probs=log_probs,
            ranks=ranks,
            likeliest=tuple(self.target_tokens(row.tolist()) for row in likeliest),
            likeliest_log_probs=best,
        )

    def position_table(self, length: int | None = None, *, side: Side = "encoder") -> FloatArray:
        """The model's own table of position encodings, bit for bit.

        Args:
            length: rows; None gives as many as the model was made for. Sinusoids can have more, as
                for a longer text; learned positions cannot.
            side: "encoder" or "decoder".

        Returns:
            (position, d_model), float32, read-only.

        Raises:
            PositionError: if there is no such side, no table of this length, or the model adds no
                positions to its embeddings.
        """
        encodings = {
            "encoder": self.model.encoder.positions,
            "decoder": self.model.decoder.positions,
        }
        if side not in encodings:
            raise PositionError(f"There is no side {side!r}; choose encoder or decoder.")
        self._require_added()
        encoding = encodings[side]
        length = encoding.max_positions if length is None else length
        if length < 1:
            raise PositionError(f"A table needs at least 1 position, not {length}.")
        try:
            rows = encoding.extended(length)[:length]
        except LengthError:
            raise PositionError(
                f"This model learned {encoding.max_positions} positions and has no table of "
                f"{length}; choose at most {encoding.max_positions}."
            ) from None
        # A copy, or it would change with the model.
        table = rows.detach().float().cpu().numpy().copy()
        table.setflags(write=False)
        return table

    def trained_positions(self, side: Side = "encoder") -> int | None:
        """The number of rows of a learned `position_table` that training reached.

        Only sentences that reach a row train it; rows after the longest sentence stay as they were
        drawn before training. None for a table by a formula, and if the checkpoint's metrics lack
        the length of the longest sentence.
        """
        longest = longest_trained(self.metrics)
        if not self.positions.is_learned or longest is None:
            return None
        longest_of_side = longest["source" if side == "encoder" else "target"]
        return min(longest_of_side, self.model.config.max_positions)

    @torch.inference_mode()
    def encode(self, text: str, *, under: Intervention = UNCHANGED) -> FloatArray:
        """The encoder's output for a sentence, (source, d_model).

        Row i belongs to the token that `source_order` puts in place i; the last row belongs to
        </s>.
        """
        source = self._source(text, under)
        with intervening([under.of_encoder], sites=self.sites):
            return self.model.encode(source)[0].float().cpu().numpy()

    @torch.inference_mode()
    def embedding_parts(self, text: str, *, under: Intervention = UNCHANGED) -> EmbeddingParts:
        """Word and position of a sentence's tokens, with the sum that the encoder reads.

        Masks and heads do not affect them. Raises PositionError also if the model adds no positions
        to its embeddings.
        """
        self._require_added()
        source = self._source(text, under)
        word = self.model.source_embedding(source)
        scaled = self.model.embed(self.model.source_embedding, source)
        with intervening([replace(under.of_encoder, masks={}, heads={})]):
            position = self.model.encoder.positions(source.shape[1])
        parts = {
            "word": word[0],
            "scaled": scaled[0],
            "position": position,
            "sum": (scaled + position)[0],
        }
        return EmbeddingParts(
            tokens=self.source_tokens(source[0].tolist()),
            **{name: x.float().cpu().numpy() for name, x in parts.items()},
        )

    @torch.inference_mode()
    def score_terms(self, text: str, *, under: Intervention = UNCHANGED) -> ScoreTerms:
        """The parts that words and positions have in the scores of the encoder's first layer.

        Raises PositionError also with additive attention, and if the model adds no positions to its
        embeddings.
        """
        self._require_added()
        source = self._source(text, under)
        with recording() as recorded, intervening([under.of_encoder], sites=self.sites):
            self.model.encode(source)
            position = self.model.encoder.positions(source.shape[1])
        layer = cast("EncoderLayer", self.model.encoder.layers[0])
        word = self.model.embed(self.model.source_embedding, source)[0]
        terms = score_terms(
            layer.self_attention,
            [self.positions.norm, *([layer.self_residual.norm] if layer.self_residual.pre else [])],
            word,
            position,
        )
        scores = cast("torch.Tensor", recorded[Site(AttentionKind.ENCODER, 0)].scores)[0]
        return ScoreTerms(
            tokens=self.source_tokens(source[0].tolist()),
            terms={name: x.float().cpu().numpy() for name, x in terms.items()},
            scores=scores.float().cpu().numpy(),
        )

    @torch.inference_mode()
    def head_matrices(self, site: Site, head: int) -> HeadMatrices:
        """The weight matrices of one head (section 3.2.2).

        Raises:
            ValueError: if the model has no such site.
            IndexError: if the site has no such head.
        """
        stack = self.model.encoder if site.kind is AttentionKind.ENCODER else self.model.decoder
        name = "cross_attention" if site.kind is AttentionKind.CROSS else "self_attention"
        if site not in self.sites:
            raise ValueError(f"This model has no {site.kind} attention in layer {site.layer}.")
        matrices = getattr(stack.layers[site.layer], name).head_matrices(head)
        w_q, w_k, w_v, w_o = (each.float().cpu().numpy() for each in matrices)
        return HeadMatrices(w_q=w_q, w_k=w_k, w_v=w_v, w_o=w_o)

    def _require_added(self) -> None:
        if not self.positions.is_added:
            raise PositionError(
                f"Self-attention of this model {self.positions.acts}; nothing is added to its "
                "embeddings, so it has no table of encodings. Choose a model that adds positions."
            )


@checked
def load(
    checkpoint: str | PathLike[str],
    *,
    device: str | torch.device = "auto",
    dtype: str | torch.dtype = "float32",
    snapshot: int | None = None,
) -> Translator:
    """A translator from a checkpoint folder.

    Args:
        checkpoint: the name of a model that comes with Headscope, such as "en-de"; or a folder
            with config.json, weights and tokenizer.
        device: "auto", "cpu", "cuda", "cuda:1" or "mps", or torch's.
        dtype: of the numbers: "float32", "bfloat16" or "float16", or torch's.
        snapshot: an earlier state of training, if the folder holds any: an index into
            `model.checkpoints.checkpoint.snapshots`, negative to count from the end. None gives the
            trained model.

    Raises:
        CheckpointError: if the folder is missing, incomplete or damaged, or has no such snapshot.
        DeviceError: if the machine has no such device, or there is no such dtype.
    """
    path = checkpoint_folder(checkpoint)
    resolve_device(device)
    loaded = load_checkpoint(path, snapshot=snapshot)
    known = provenance_of(path, snapshot)
    metrics = loaded.metrics
    if snapshot is not None:
        # It describes the whole training; the first steps may not have seen that sentence yet.
        metrics = {name: value for name, value in metrics.items() if name != "longest"}
    translator = Translator(
        loaded.model,
        loaded.tokenizer,
        metrics=metrics,
        name=path.name,
        search=loaded.search,
        provenance=known,
    ).to(device, dtype=dtype)
    translator.folder = path if snapshot is None and resolve_dtype(dtype) is torch.float32 else None
    return translator
