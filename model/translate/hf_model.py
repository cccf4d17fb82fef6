"""A model of Hugging Face's in use: what it makes of a text, with what every head did."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from model.record.recording import CaptureError
from model.trace.attention_map import Tokens
from model.trace.provenance import Provenance
from model.trace.text_result import Answer, FolderFacts, Purpose
from model.trace.token_schemes import scheme_of, spelled
from model.trace.trace import Trace
from model.translate.sentences import TextError
from model.watch import watching

MOST_TOKENS = 512
"""Of one text: what is typed, or what is written for it."""

NEW_TOKENS = 32
"""So much a language model writes on, at most."""

MOST_WEIGHTS = 40_000_000
"""Of all heads together: 512 tokens of 144 heads."""

FILLS = 5
"""Tokens that are given for a gap, likeliest first."""

MOST_BEAMS = 8

MASK = "[MASK]"
"""What stands for a gap in a typed text, whatever the model's own mark is."""

_SEARCH = (
    *("bad_words_ids", "begin_suppress_tokens", "bos_token_id", "decoder_start_token_id"),
    *("early_stopping", "eos_token_id", "forced_bos_token_id", "forced_eos_token_id"),
    *("length_penalty", "no_repeat_ngram_size", "num_beams", "pad_token_id"),
    *("repetition_penalty", "suppress_tokens"),
)
"""What is taken over of a folder's way to write; all else may run code, or for ever."""

_POSITIONS = ("max_position_embeddings", "n_positions", "max_seq_len")


class ForeignModel:
    """A model of Hugging Face's with its tokenizer; `load_foreign` gives one."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        purpose: Purpose,
        facts: FolderFacts,
        device: torch.device,
        provenance: Provenance,
    ) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.provenance, self.name = provenance, provenance.model
        self.purpose, self.facts, self.device = purpose, facts, device
        self.n_parameters = sum(each.numel() for each in model.parameters())
        self._scheme = scheme_of(tokenizer.get_vocab())

    def read(self, text: str) -> Answer:
        """What the model makes of a text, and what every head did for it.

        A model that writes does so first, as its folder says, and then reads all of it in one pass.

        Args:
            text: what to translate or to write on from; for a model that fills gaps, [MASK] stands
                for each.

        Raises:
            TextError: if the text is empty or too long, or the model cannot run on it.
        """
        # Whatever a tokenizer cannot encode becomes a question mark.
        text = text.encode("utf-8", "replace").decode()
        if not text.strip():
            raise TextError("The text is empty; type one.")
        prompt = text.replace(MASK, self.tokenizer.mask_token or MASK)
        try:
            with torch.inference_mode():
                inputs = self.tokenizer(prompt, return_tensors="pt")
                inputs = {
                    name: inputs[name].to(self.device)
                    for name in ("input_ids", "attention_mask", "token_type_ids")
                    if name in inputs
                }
                self._require_room(inputs["input_ids"])
                return self._read(text, inputs)
        except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            # Of a GPU, and of memory, whoever asked knows what to do.
            of_machine = isinstance(error, RuntimeError) and not isinstance(error, CaptureError)
            if of_machine and (self.device.type != "cpu" or "alloc" in str(error)):
                raise
            if isinstance(error, TextError):
                raise
            message = f"{self.name} could not run on this text: {first_line(error)}"
            raise TextError(message) from error

    def _read(self, text: str, inputs: dict[str, Any]) -> Answer:
        match self.purpose:
            case Purpose.TRANSLATE:
                return self._translate(text, inputs)
            case Purpose.CONTINUE:
                return self._continue(text, inputs)
            case _:
                return self._fill(text, inputs)

    def _translate(self, text: str, inputs: dict[str, Any]) -> Answer:
        inputs.pop("token_type_ids", None)
        written = self._generate(inputs, most=self._room)
        with watching() as watched:
            logits = self.model(**inputs, decoder_input_ids=written[:, :-1], use_cache=False).logits
        ids = written[0].tolist()
        trace = watched.trace(
            source=self._tokens(inputs["input_ids"][0].tolist()),
            target=self._tokens(ids[:-1]),
            predictions=self._tokens(ids[1:]),
            text=self._text(ids),
            source_text=text,
            log_probs=_log_probs(logits[0], ids[1:]),
        )
        return self._answer(trace, finished=self._ends(ids), n_written=len(ids) - 1)

    def _continue(self, text: str, inputs: dict[str, Any]) -> Answer:
        inputs.pop("token_type_ids", None)
        n_given = inputs["input_ids"].shape[1]
        # Of one token alone, nothing tells that it could not look ahead.
        least = 2 if n_given == 1 else 1
        most = max(least, min(NEW_TOKENS, self._room - n_given))
        written = self._generate(inputs, most=most, least=least)
        with watching() as watched:
            logits = self.model(input_ids=written[:, :-1], use_cache=False).logits
        ids = written[0].tolist()
        # Within what was typed, the model predicts as well, and seldom what stands there.
        predicted = logits[0, : n_given - 1].argmax(-1).tolist() + ids[n_given:]
        trace = watched.trace(
            source=Tokens(),
            target=self._tokens(ids[:-1]),
            predictions=self._tokens(predicted),
            text=self._text(ids),
            source_text=text,
            log_probs=_log_probs(logits[0], predicted),
        )
        return self._answer(trace, finished=self._ends(ids), n_written=len(ids) - n_given)

    def _fill(self, text: str, inputs: dict[str, Any]) -> Answer:
        with watching() as watched:
            output = self.model(**inputs)
        ids = inputs["input_ids"][0].tolist()
        fills, filled = [], list(ids)
        if self.purpose is Purpose.FILL:
            for place in [i for i, each in enumerate(ids) if each == self.tokenizer.mask_token_id]:
                likeliest_tokens = output.logits[0, place].float().softmax(-1).topk(FILLS)
                likeliest = likeliest_tokens.indices.tolist()
                filled[place] = likeliest[0]
                words = [self.tokenizer.decode([each]).strip() for each in likeliest]
                fills.append(tuple(zip(words, likeliest_tokens.values.tolist(), strict=True)))
        tokens = self._tokens(ids)
        is_causal = all(each.site.kind == "decoder" for each in watched.sites)
        trace = watched.trace(
            source=Tokens() if is_causal else tokens,
            target=tokens if is_causal else Tokens(),
            predictions=Tokens(),
            text=self._text(filled) if fills else "",
            source_text=text,
        )
        return self._answer(trace, fills=tuple(fills))

    def _answer(
        self,
        trace: Trace,
        *,
        finished: bool = True,
        n_written: int = 0,
        fills: tuple[tuple[tuple[str, float], ...], ...] = (),
    ) -> Answer:
        device = self.device.type
        trace = replace(trace, provenance=self.provenance)
        return Answer(trace, finished, n_written, fills, self.purpose, self.n_parameters, device)

    def _generate(self, inputs: dict[str, Any], *, most: int, least: int = 1) -> Any:
        own = self.model.generation_config
        settings = {name: getattr(own, name, None) for name in _SEARCH}
        settings["num_beams"] = max(1, min(settings["num_beams"] or 1, MOST_BEAMS))
        if settings["pad_token_id"] is None:
            settings["pad_token_id"] = self.tokenizer.pad_token_id
        config = type(own)(
            **{name: value for name, value in settings.items() if value is not None},
            max_new_tokens=most,
            min_new_tokens=least,
            do_sample=False,
        )
        self.model.generation_config = config
        try:
            return self.model.generate(**inputs)
        finally:
            self.model.generation_config = own

    @property
    def _room(self) -> int:
        """How many tokens one text may have."""
        config = self.model.config.get_text_config()
        known = [getattr(config, name, None) for name in _POSITIONS]
        limits = [each for each in known if isinstance(each, int) and each > 0]
        if "roberta" in self.facts.model_type or self.facts.model_type == "camembert":
            # Its first rows of positions are those of padding.
            limits = [each - (config.pad_token_id or 0) - 1 for each in limits]
        return int(min(MOST_TOKENS, self.tokenizer.model_max_length, *limits))

    def _require_room(self, ids: Any) -> None:
        length, room = ids.shape[1], self._room
        if not length:
            raise TextError("The text is empty for this model's tokenizer; type another.")
        # A language model writes at least two more.
        least = 2 if self.purpose is Purpose.CONTINUE else 0
        if length + least > room:
            raise TextError(
                f"The text has {length:,} tokens and this model takes {room - least:,} here; "
                "shorten it."
            )
        if int(ids.max()) >= self.model.get_input_embeddings().weight.shape[0]:
            raise TextError(
                "This folder's tokenizer has tokens that its model does not know; its files "
                "belong to different models."
            )
        config = self.model.config
        n_heads = getattr(config, "num_hidden_layers", 1) * getattr(
            config, "num_attention_heads", 1
        )
        if n_heads * length**2 > MOST_WEIGHTS:
            most = int((MOST_WEIGHTS / n_heads) ** 0.5)
            raise TextError(
                f"The text has {length:,} tokens, but with {n_heads:,} heads at most {most:,} can "
                "be shown; shorten it."
            )

    def _ends(self, ids: list[int]) -> bool:
        ends = self.model.generation_config.eos_token_id
        return ids[-1] in (ends if isinstance(ends, list) else [ends])

    def _text(self, ids: list[int]) -> str:
        known = [each for each in ids if each < len(self.tokenizer)]
        return str(self.tokenizer.decode(known, skip_special_tokens=True))

    def _tokens(self, ids: list[int]) -> Tokens:
        specials = set(self.tokenizer.all_special_ids)
        # A model may have more rows than its tokenizer has tokens.
        known = len(self.tokenizer)
        pieces = [
            str(self.tokenizer.convert_ids_to_tokens(each)) if each < known else f"<{each}>"
            for each in ids
        ]
        texts = spelled(pieces, self._scheme, [each in specials for each in ids])
        return Tokens(texts, tuple(ids), "sentencepiece")


def _log_probs(logits: Any, ids: list[int]) -> Any:
    rows = logits.float().log_softmax(-1).cpu().numpy()
    return rows[np.arange(len(ids)), ids]


def first_line(error: Exception) -> str:
    """The first line of an error's message, cut where it is long; else the name of its class."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    line = lines[0] if lines else type(error).__name__
    return line if len(line) <= 300 else f"{line[:299]}…"
