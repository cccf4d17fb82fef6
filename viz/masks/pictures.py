"""What can be saved of the masks page."""

from collections.abc import Callable
from typing import Any

from model.trace import AttentionMap, BoolArray
from viz.draw.panel_figure import panels_figure
from viz.draw.panels import Panel
from viz.masks import edits as mask_edits
from viz.masks import log_probs, steps
from viz.masks import panels as mask_panels
from viz.masks.edits import Edit
from viz.masks.mask import Mask
from viz.masks.page_chosen import Chosen
from viz.save import cells, picture_numbers
from viz.save.cells import Lines, OfBatch, OfMask
from viz.shell import session
from viz.shell.save_menu import Look, Picture


def asked(chosen: Chosen) -> OfBatch:
    """What is looked at, as Python."""
    return OfBatch(
        chosen.sentences,
        chosen.number,
        chosen.question.target,
        chosen.kind,
        chosen.layer,
        chosen.head,
    )


def texts(chosen: Chosen) -> dict[str, str]:
    """The batch, to go with numbers."""
    return {"batch": "\n".join(chosen.sentences), "number_in_batch": str(chosen.number + 1)}


def grid(chosen: Chosen) -> Picture:
    """The tokens of the batch, which are a table."""
    return Picture(
        "The tokens of the batch",
        "masks-batch",
        numbers=lambda: picture_numbers.grid_numbers(chosen.batch.padded),
        texts=texts(chosen),
    )


def factors(chosen: Chosen) -> Picture:
    """How the decoder's mask is made."""
    names = ("causal", "target-padding", "decoder")
    return _own_masks(
        chosen,
        f"How the decoder’s mask of sentence {chosen.number + 1} is made",
        f"masks-sentence{chosen.number + 1}-decoder",
        mask_panels.factor_panels,
        names,
    )


def others(chosen: Chosen) -> Picture:
    """Every other mask."""
    names = ("encoder", "cross", "source-padding", "target-padding")
    return _own_masks(
        chosen,
        f"The other masks of sentence {chosen.number + 1}",
        f"masks-sentence{chosen.number + 1}-others",
        mask_panels.other_panels,
        names,
    )


def _own_masks(
    chosen: Chosen,
    title: str,
    name: str,
    panels: Callable[[dict[str, Mask]], list[Panel]],
    names: tuple[str, ...],
) -> Picture:
    every = chosen.masks
    return Picture(
        title,
        name,
        figure=lambda look: panels_figure(panels(every), title=title, **look.panel_options),
        numbers=lambda: picture_numbers.masks_numbers(
            {each.replace("-", "_"): every[each] for each in names}
        ),
        cell=lambda look: cells.mask_panels(
            asked(chosen), panels.__name__, title, look.panel_python
        ),
        texts=texts(chosen),
    )


def stages(chosen: Chosen, one: steps.Stages, **scale: Any) -> Picture:
    """What happens inside a head; `scale` as `mask_panels.stage_panels` takes it."""
    seen, head = chosen.seen, chosen.head
    with_mask = "with" if scale["hatched"] else "without"
    named = chosen.head_name
    title = f"{named}, {with_mask} the mask"
    return Picture(
        title,
        f"stages-{_place(chosen)}-{with_mask}-mask",
        figure=lambda look: panels_figure(
            mask_panels.stage_panels(seen, one, **scale), title=title, **look.panel_options
        ),
        numbers=lambda: picture_numbers.stages_numbers(seen, head, one),
        cell=lambda look: cells.stage_panels(asked(chosen), title, look.panel_python, **scale),
        texts=texts(chosen),
    )


def lesson(chosen: Chosen, row: steps.FillLesson) -> Picture:
    """Three softmaxes of one row, which are a table."""
    return Picture(
        "A row with nothing to look at",
        f"softmax-{_place(chosen)}",
        numbers=lambda: picture_numbers.lesson_numbers(row, chosen.seen.keys),
        texts=texts(chosen),
    )


def compared(
    chosen: Chosen, masks: tuple[Mask, Mask], names: tuple[str, str], titles: tuple[str, str]
) -> Picture:
    """Two masks and where they differ.

    Args:
        chosen: what is looked at.
        masks: A and B.
        names: of them in the address.
        titles: of them in the picture.
    """
    title = "Two masks compared"
    return Picture(
        title,
        "masks-compared",
        figure=lambda look: panels_figure(
            mask_panels.compared_panels(*masks, titles), title=title, **look.panel_options
        ),
        numbers=lambda: picture_numbers.masks_numbers(dict(zip(("a", "b"), masks, strict=True))),
        cell=lambda look: cells.compared_masks(
            asked(chosen), _of_masks(chosen, names, masks), titles, title, look.panel_python
        ),
        texts=_compared_texts(chosen, titles),
    )


def compared_weights(
    chosen: Chosen,
    masks: tuple[Mask, Mask],
    names: tuple[str, str],
    titles: tuple[str, str],
    maps: tuple[AttentionMap, AttentionMap],
) -> Picture:
    """One head's weights under two masks; arguments as in `compared`, and its maps under both."""
    title = f"{chosen.head_name}, under A and B"
    return Picture(
        title,
        f"masks-compared-weights-{_place(chosen)}",
        figure=lambda look: panels_figure(
            mask_panels.changed_panels(*maps, chosen.head, ("Weights under A", "Weights under B")),
            title=title,
            **look.panel_options,
        ),
        numbers=lambda: picture_numbers.changes_numbers(
            dict(zip(("under_a", "under_b"), maps, strict=True)), chosen.head
        ),
        cell=lambda look: cells.compared_weights(
            asked(chosen), _of_masks(chosen, names, masks), title, look.panel_python
        ),
        texts=_compared_texts(chosen, titles),
    )


def moved(
    chosen: Chosen,
    masks: tuple[Mask, Mask],
    names: tuple[str, str],
    titles: tuple[str, str],
    panel: Panel,
) -> Picture:
    """How much every head moved; arguments as in `compared`, and the panel that shows it."""
    title = "How much each head moved, from A to B"
    return Picture(
        title,
        "masks-compared-heads",
        figure=lambda look: panels_figure([panel], title=title, **look.panel_options),
        numbers=lambda: picture_numbers.panels_numbers([panel]),
        cell=lambda look: cells.moved_heads(
            asked(chosen),
            _of_masks(chosen, names, masks),
            (chosen.batch.n_source[chosen.number], chosen.batch.n_target[chosen.number]),
            title,
            look.panel_python,
        ),
        texts=_compared_texts(chosen, titles),
    )


def compared_log_probs(
    chosen: Chosen,
    masks: tuple[Mask, Mask],
    names: tuple[str, str],
    titles: tuple[str, str],
    one: session.Outcome,
    other: session.Outcome,
) -> Picture:
    """How probable the target is under two masks; arguments as in `compared`, and both outcomes."""
    n_target = chosen.batch.n_target[chosen.number]
    return _log_probs(
        chosen,
        (one, other),
        ("A", "B"),
        lambda look: cells.compared_log_probs(
            asked(chosen), _of_masks(chosen, names, masks), n_target, look.python
        ),
        _compared_texts(chosen, titles),
    )


def edited(
    chosen: Chosen,
    allowed: BoolArray,
    edits: tuple[Edit, ...],
    maps: tuple[AttentionMap, AttentionMap],
) -> Picture:
    """A painted mask and what it does to a head."""
    own, head = chosen.own, chosen.head
    title = f"{chosen.head_name}, before and after"

    def panels() -> list[Panel]:
        return [
            mask_panels.editor_panel(own, allowed, "The mask"),
            *mask_panels.changed_panels(*maps, head, ("Weights before", "Weights after"), sign="→"),
        ]

    return Picture(
        title,
        f"mask-edit-{_place(chosen)}",
        figure=lambda look: panels_figure(panels(), title=title, **look.panel_options),
        numbers=lambda: picture_numbers.changes_numbers(
            dict(zip(("before", "after"), maps, strict=True)), head
        ),
        cell=lambda look: cells.edited_weights(
            asked(chosen),
            mask_edits.encode(allowed),
            mask_edits.write(edits),
            title,
            look.panel_python,
        ),
        texts=_edited_texts(chosen, edits),
    )


def edited_log_probs(
    chosen: Chosen, edits: tuple[Edit, ...], before: session.Outcome, after: session.Outcome
) -> Picture:
    """How probable the target is before and after edits."""
    n_target = chosen.batch.n_target[chosen.number]
    return _log_probs(
        chosen,
        (before, after),
        ("Before", "After"),
        lambda look: cells.edited_log_probs(
            asked(chosen), mask_edits.write(edits), n_target, look.python
        ),
        _edited_texts(chosen, edits),
    )


def _log_probs(
    chosen: Chosen,
    outcomes: tuple[session.Outcome, session.Outcome],
    names: tuple[str, str],
    cell: Callable[[Look], Lines],
    about: dict[str, str],
) -> Picture:
    n_target = chosen.batch.n_target[chosen.number]
    first, second = (
        (each.forced.predictions[:n_target], _known(each.forced.log_probs)[:n_target])
        for each in outcomes
    )
    return Picture(
        "How probable each target token is",
        "log-probabilities",
        figure=lambda look: log_probs.log_prob_bars(*first, *second, names, **look.options),
        numbers=lambda: picture_numbers.log_probs_numbers(
            {name.lower(): side for name, side in zip(names, (first, second), strict=True)}
        ),
        cell=cell,
        texts=about,
    )


def _known(log_probs: Any) -> Any:
    assert log_probs is not None, "every trace of a translator holds them"
    return log_probs


def _of_masks(
    chosen: Chosen, names: tuple[str, str], both: tuple[Mask, Mask]
) -> tuple[OfMask, OfMask]:
    """Masks as Python, by their names in the address."""
    first, second = (_of_mask(chosen, name, mask) for name, mask in zip(names, both, strict=True))
    return first, second


def _of_mask(chosen: Chosen, name: str, mask: Mask) -> OfMask:
    start, _, rest = name.partition(".")
    if start == "preset":
        return OfMask(chosen.number, str(chosen.kind), rest, mask_edits.encode(mask.allowed))
    if start == "edited":
        return OfMask(chosen.number, rest, allowed=mask_edits.encode(mask.allowed))
    return OfMask(int(start) - 1, rest)


def _compared_texts(chosen: Chosen, titles: tuple[str, str]) -> dict[str, str]:
    return texts(chosen) | dict(zip(("mask_a", "mask_b"), titles, strict=True))


def _edited_texts(chosen: Chosen, edits: tuple[Edit, ...]) -> dict[str, str]:
    said = "; ".join(map(str, edits)) or "none"
    return texts(chosen) | {"edited": said, "edit": mask_edits.write(edits)}


def _place(chosen: Chosen) -> str:
    return f"{chosen.kind}-layer{chosen.layer}-head{chosen.head}"
