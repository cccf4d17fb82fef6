"""The head that the page shows: brought from another page, remembered, and one that there is."""

from model.explain.labels import opening_heads
from model.trace.attention_map import AttentionKind
from model.trace.head import Head
from viz.browser.kept import Kept, nothing
from viz.browser.trace_payload import JOINT
from viz.heads.view import KEYS, VIEW, HeadsView
from viz.links.head_refs import USUAL
from viz.pages.heads_trace import BY_NAME, JOINED, Prepared, selected_sites
from viz.service.questions import ModelQuestion, TraceQuestion
from viz.shell import address, current_head
from viz.shell.head_picker import keep_counted

_MODEL: Kept[str | None] = Kept(KEYS("model"), nothing)


_PLACES: Kept[dict[tuple[str, str], dict[str, int]]] = Kept(KEYS("places"), dict)
"""The trace shown last; its model; the head shown last of each model and kind of attention."""


def opening_place(prepared: Prepared, view: HeadsView) -> tuple[int, int]:
    """The layer and head that open, of the kind of attention that is shown."""
    kind = AttentionKind.CROSS if view.attention == JOINT else AttentionKind(view.attention)
    return opening_heads(prepared.seen.maps, prepared.labels, prepared.facts)[kind]


def is_newly_chosen(model: str) -> bool:
    """Whether another model than the last one is shown, and no link asked for it."""
    last = _MODEL.value
    return last is not None and last != model and not address.is_followed()


def return_to_head(model: str) -> None:
    """Go back to the head last shown of a model that was chosen again."""
    if is_newly_chosen(model):
        attention = address.read(HeadsView).attention
        address.change(**_PLACES.value.get((model, attention), {}))


def note_place(model: str, view: HeadsView) -> None:
    """Remember which head of which kind of attention was shown of this model."""
    _PLACES.value[model, view.attention] = {"layer": view.layer, "head": view.head}
    _MODEL.value = model


def bring_head() -> None:
    """Show the head of the page before, or again the one that was shown here."""
    heads = current_head.brought(VIEW.name)
    if not heads:
        return
    site, head = heads[0]
    attention = JOINT if len(heads) > 1 else str(site.kind)
    address.bring(attention=attention, layer=site.layer, head=head)
    if f"{site.layer}.{head}" not in address.read(HeadsView).compare.split("-"):
        address.bring(compare="")


def choose_attention(prepared: Prepared) -> None:
    """Show a kind of attention that there is, and note it where an address asked for another."""
    view = address.read(HeadsView)
    there = [str(kind) for kind in prepared.kinds]
    if set(JOINED) <= set(prepared.kinds):
        there.append(JOINT)
    if view.attention in there:
        return
    usual = BY_NAME["attention"].default
    if usual not in there:
        usual = there[0]
    address.change(attention=usual, layer=USUAL, head=USUAL)
    if address.is_followed() and "attention" in address.query():
        address.note(
            "attention",
            f"There is no attention “{view.attention}” here; shown instead: “{usual}”.",
        )


def clamp_place(prepared: Prepared) -> None:
    """Bring layer and head into this model's range, and note what had to change."""
    trace, model = prepared.trace, prepared.question.name
    return_to_head(model)
    choose_attention(prepared)
    view = address.read(HeadsView)
    kinds = JOINED if view.attention == JOINT else (AttentionKind(view.attention),)
    n_layers = max(len(trace.layers(kind)) for kind in kinds)
    n_heads = min(seen.n_heads for site, seen in trace.maps.items() if site.kind in kinds)
    places = (("layer", view.layer, n_layers), ("head", view.head, n_heads))
    shown = "This trace" if isinstance(prepared.question, TraceQuestion) else "This model"
    if is_newly_chosen(model) and any(asked >= count for _, asked, count in places):
        # Nobody asked for that head of this model.
        places = (("layer", USUAL, n_layers), ("head", USUAL, n_heads))
    usual = None
    for place, (name, asked, count) in enumerate(places):
        if asked == USUAL:
            usual = usual or opening_place(prepared, view)
            address.change(**{name: usual[place]})
        elif asked >= count:
            address.change(**{name: count - 1})
            address.note(
                name,
                f"{shown} has {name}s 0 to {count - 1}, but no {name} {asked}; shown instead: "
                f"{name} {count - 1}.",
            )
    if usual is not None and view.attention == BY_NAME["attention"].default:
        sites, head = selected_sites(prepared, address.read(HeadsView))
        current_head.open_with(VIEW.name, [Head(site, head) for site in sites])


def clamp_off(prepared: Prepared) -> None:
    """Keep those heads off that this model has, or none where it cannot be run without a head."""
    view = address.read(HeadsView)
    if isinstance(prepared.question, ModelQuestion):
        counts = {site: seen.n_heads for site, seen in prepared.trace.maps.items()}
        keep_counted("off", view.off, counts, "the others stay switched off.")
    elif view.off:
        address.change(off=())
