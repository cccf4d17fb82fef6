"""What a model's folder says of it: size, training, scores."""

from collections.abc import Mapping
from typing import Any

from model.checkpoints.checkpoint import training_runs
from model.checkpoints.toy_tasks import task_of
from model.paper.table_tokenizer import Frame
from model.trace.text_result import FolderFacts
from model.translate.translator import Translator
from viz.draw.labels import escape_markdown, visible
from viz.draw.style import count_of, percent


def model_facts(model: Translator) -> str:
    """A checkpoint's shape and, as far as recorded, its training and scores, as Markdown."""
    config, task = model.model.config, task_of(model.metrics)
    lines = [
        f"{escape_markdown(model.name)}: {model.n_parameters / 1e6:.1f} million parameters, "
        f"{config.n_encoder_layers} encoder and "
        f"{count_of(config.n_decoder_layers, 'decoder layer')} of "
        f"{count_of(config.n_heads, 'head')}, model width {config.d_model}, "
        f"{'a vocabulary' if config.target_vocab_size is None else 'vocabularies'} of "
        f"{config.vocabularies}, at most {config.max_positions} tokens a sentence."
    ]
    if languages := model.tokenizer.languages:
        lines.append(
            f"It writes {count_of(len(languages), 'language')}: a text begins with the one to "
            f"write, such as `{languages[-1]}`, and without one the model writes "
            f"`{languages[0]}`."
        )
    if reads := getattr(model.tokenizer, "frame", Frame()).reads:
        both = f"`>>{reads}<< {languages[-1]}`" if languages else f"`>>{reads}<<`"
        lines.append(f"It reads {reads}, or the language that a text begins with, as in {both}.")
    lines += _training(model.metrics)
    tested = model.metrics.get("test")
    if task is not None:
        lines.append(f"A toy: it {task.does}. It reads {task.reads}.")
    if isinstance(tested, dict):
        exact, sentences = (number(tested.get(name)) for name in ("exact", "sentences"))
        if exact is not None and sentences is not None:
            lines.append(
                f"On {sentences:,.0f} inputs that training never saw, {percent(exact, 1)} of the "
                "outputs are exactly right. Details: card.md in the model's folder."
            )
        bleu, chrf, sentences = (number(tested.get(name)) for name in ("bleu", "chrf", "sentences"))
        if bleu is not None and chrf is not None and sentences is not None:
            lines.append(
                f"BLEU {bleu:.1f} and chrF {chrf:.1f} on {sentences:,.0f} test sentences"
                + (
                    f" ({escape_markdown(tested['data'])})"
                    if isinstance(tested.get("data"), str)
                    else ""
                )
                + ". Details: card.md in the model's folder."
            )
        lines += _nearness(tested)
    return "\n".join(f"- {line}" for line in lines)


def _training(metrics: Mapping[str, Any]) -> list[str]:
    """The length of its training over all runs; empty if one of them has no record."""
    runs = training_runs(metrics) or []
    steps, tokens = (sum(run[name] for run in runs) for name in ("steps", "target_tokens"))
    if not steps or not tokens:
        return []
    earlier = sum(run["steps"] for run in runs[:-1])
    including = f", including {earlier:,} steps of earlier training" if earlier else ""
    return [f"Trained for {steps:,} steps on {tokens / 1e6:.1f} million target tokens{including}."]


def _nearness(tested: dict[str, Any]) -> list[str]:
    """BLEU on test sentences that are nearly in the training data, and on the others."""
    parts = [tested.get(name) for name in ("near", "far")]
    (near, near_bleu), (far, far_bleu) = (
        [
            number(part.get(name)) if isinstance(part, dict) else None
            for name in ("sentences", "bleu")
        ]
        for part in parts
    )
    if near is None or near_bleu is None or far is None or far_bleu is None:
        return []
    return [
        f"{near:,.0f} of them differ from a training sentence by at most one word added, removed "
        f"or replaced: BLEU is {near_bleu:.1f} on these and {far_bleu:.1f} on the other "
        f"{far:,.0f}, a better estimate for new text."
    ]


def number(value: Any) -> float | None:
    """The number, or None if it is none; files may have been written by anybody."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else None


def folder_facts(name: str, facts: FolderFacts) -> str:
    """The facts in the folder of a Hugging Face model, or of half a Transformer, as Markdown."""
    held = facts.architecture
    if facts.model_type:
        named = escape_markdown(visible(facts.architecture or "a model"))
        family = escape_markdown(visible(facts.model_type))
        held = f"a Hugging Face folder with {named} ({family})"
    lines = [
        "## The model",
        "",
        f"{escape_markdown(visible(name))} is {held}. Its configuration says:",
        "",
    ]
    sizes = [f"- {escape_markdown(visible(size))}: {number:,}" for size, number in facts.sizes]
    return "\n".join([*lines, *(sizes or ["- no sizes"])])
