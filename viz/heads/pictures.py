"""What can be saved of the heads page: the picture as it is selected, and what lies below it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from model.trace import AttentionKind, Site
from viz.draw.panel_figure import panel_figure, panels_figure
from viz.heads.heatmap import row_titles
from viz.heads.lines import lines_figure
from viz.heads.measures import Label
from viz.heads.overview import chosen_maps, heads_overview
from viz.heads.panels import compared_panels, joint_maps, joint_panel
from viz.heads.payload import JOINT
from viz.heads.query_key import query_key_figure
from viz.heads.reading import Reading, Seen
from viz.heads.standalone import heads_page
from viz.save import cells, export, picture_numbers
from viz.save.export import Numbers
from viz.shell.save_menu import Look, Picture
from viz.shell.session import Question

Facts = Mapping[Site, Mapping[str, Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """What the page shows.

    Attributes:
        question: of the sentence bar.
        reading: how the trace is read.
        seen: the trace, read so.
        facts: of every head.
        labels: of those that earned one.
        sites: those selected, several where all kinds share a picture.
        head: the one selected.
        selection: all that is selected, as the explorer spells it.
    """

    question: Question
    reading: Reading
    seen: Seen
    facts: Facts
    labels: Mapping[Site, tuple[Label | None, ...]]
    sites: Sequence[Site]
    head: int
    selection: Mapping[str, str]

    @property
    def texts(self) -> dict[str, str]:
        """How the trace is read, to go with numbers."""
        return {"reading": " ".join(self.seen.notes)} if self.seen.notes else {}

    @property
    def python(self) -> cells.OfTrace:
        """The trace as Python."""
        return cells.OfTrace(self.question.sentence, self.question.target, self.reading)

    @property
    def given(self) -> dict[str, Any]:
        """The same for `export.notebook_lines`."""
        return {"target": self.question.target, "reading": self.reading}


def pictures(shown: Shown) -> list[Picture]:
    """The large picture first, then what else there is above the fold."""
    first = [joint(shown)] if shown.selection["attention"] == JOINT else compared(shown)
    if shown.selection["view"] == "lines":
        first = [*(lines(shown, site) for site in shown.sites), *first]
    kinds = dict.fromkeys(site.kind for site in shown.sites)
    return [
        *first,
        *(one_head(shown, site) for site in shown.sites),
        *(every_head(shown, kind) for kind in kinds),
        whole_view(shown),
    ]


def one_head(shown: Shown, site: Site) -> Picture:
    """The heatmap of one head."""
    kind, layer, head = site.kind, site.layer, shown.head
    return Picture(
        site.head_name(head),
        f"{kind}-layer{layer}-head{head}",
        figure=lambda look: export.head_figure(shown.seen, kind, layer, head, **look.options),
        numbers=lambda: export.head_numbers(shown.seen.maps[site], head),
        cell=lambda look: export.notebook_lines(
            shown.question.sentence,
            "head",
            attention=kind,
            layer=layer,
            head=head,
            **shown.given,
            **look.options,
        ),
        texts=shown.texts,
    )


def lines(shown: Shown, site: Site) -> Picture:
    """One head as lines between words."""
    kind, layer, head = site.kind, site.layer, shown.head
    title = row_titles(kind, shown.seen).query
    return Picture(
        f"{site.head_name(head)}, as lines",
        f"{kind}-layer{layer}-head{head}-lines",
        figure=lambda look: lines_figure(
            shown.seen.maps[site], head, query_title=title, **look.options
        ),
        numbers=lambda: export.head_numbers(shown.seen.maps[site], head),
        cell=lambda look: cells.lines(shown.python, str(kind), layer, head, title, look.python),
        texts=shown.texts,
    )


def every_head(shown: Shown, kind: AttentionKind) -> Picture:
    """The overview."""
    maps, heads = chosen_maps(shown.seen, kind)
    return Picture(
        f"{kind.full_name}, every head",
        f"{kind}-every-head",
        figure=lambda look: heads_overview(maps, heads, **look.options),
        numbers=lambda: export.heads_numbers(maps, heads),
        cell=lambda look: export.notebook_lines(
            shown.question.sentence, "heads", attention=kind, **shown.given, **look.options
        ),
        texts=shown.texts,
    )


def compared(shown: Shown) -> list[Picture]:
    """The heads that are compared, if there are any on this trace."""
    [site] = shown.sites
    layers = [other.layer for other in shown.seen.maps if other.kind is site.kind]
    n_heads = shown.seen.maps[site].n_heads
    pairs = [pair.split(".") for pair in shown.selection["compare"].split("-") if pair]
    heads = [
        (layers[int(place)], int(head))
        for place, head in pairs
        if int(place) < len(layers) and int(head) < n_heads
    ]
    # As the explorer has it: the selected head is one of those that are compared, or none is.
    if len(heads) < 2 or (site.layer, shown.head) not in heads:
        return []
    title = f"{site.kind.full_name}, {len(heads)} heads"

    def numbers() -> Numbers:
        made = picture_numbers.panels_numbers(compared_panels(shown.seen, site.kind, heads))
        return Numbers({"attention": str(site.kind)}, made.axes, made.arrays)

    return [
        Picture(
            f"{title} side by side",
            f"{site.kind}-compared",
            figure=lambda look: panels_figure(
                compared_panels(shown.seen, site.kind, heads), title=title, **look.panel_options
            ),
            numbers=numbers,
            cell=lambda look: cells.compared_heads(
                shown.python, str(site.kind), heads, title, look.panel_python
            ),
            texts=shown.texts,
        )
    ]


def joint(shown: Shown) -> Picture:
    """All three kinds of attention in one square."""
    layer, head = shown.sites[0].layer, shown.head
    return Picture(
        f"All three kinds of attention, layer {layer}, head {head}",
        f"joint-layer{layer}-head{head}",
        figure=lambda look: panel_figure(joint_panel(shown.seen, layer, head), **look.options),
        numbers=lambda: picture_numbers.kinds_numbers(joint_maps(shown.seen, layer), head),
        cell=lambda look: cells.joint(shown.python, layer, head, look.python),
        texts=shown.texts,
    )


def whole_view(shown: Shown) -> Picture:
    """The page's picture with its interaction."""
    settled = {"words", "specials", "renormalise", "predicted"}
    selection = {name: value for name, value in shown.selection.items() if name not in settled}
    return Picture(
        "The whole view, to open offline",
        "heads",
        page=lambda dark: heads_page(
            shown.seen,
            shown.facts,
            shown.labels,
            title=shown.question.sentence,
            selection=selection,
            dark=dark or None,
        ),
    )


def query_key(shown: Shown, site: Site, query: int, key: int) -> Picture:
    """One weight from the inside."""
    kind, layer, head = site.kind, site.layer, shown.head

    def lines(look: Look) -> cells.Lines:
        return export.notebook_lines(
            shown.question.sentence,
            "query-key",
            attention=kind,
            layer=layer,
            head=head,
            query=query,
            key=key,
            **shown.given,
            **look.options,
        )

    return Picture(
        f"{site.head_name(head)}, query {query}, key {key}",
        f"query-key-{kind}-layer{layer}-head{head}-{query}-{key}",
        figure=lambda look: query_key_figure(
            shown.seen.maps[site], head, query, key, side_by_side=not look.narrow, dark=look.dark
        ),
        numbers=lambda: export.query_key_numbers(shown.seen.maps[site], head, query, key),
        cell=lines,
        texts=shown.texts,
    )


def measures(shown: Shown) -> Picture:
    """The measures of every head, which are a table."""
    kinds = {site.kind for site in shown.sites}
    facts = {site: values for site, values in shown.facts.items() if site.kind in kinds}
    return Picture(
        "The measures of every head",
        "head-facts",
        numbers=lambda: picture_numbers.facts_numbers(facts),
        texts=shown.texts,
    )
