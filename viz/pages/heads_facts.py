"""The measures of the selected head, and those of all heads in a table."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from model.explain.head_numbers import written
from model.explain.measures import Facts
from model.explain.reading import Reading, measures_of
from model.trace.attention_map import Site
from model.trace.head import Head
from viz.browser.head_sentences import head_words
from viz.draw import css, style
from viz.draw.labels import escape_html, upper_first
from viz.heads.tables import facts_table
from viz.heads.view import KEYS
from viz.heads.whole_view import HeadMeasures
from viz.pages.heads_trace import Prepared
from viz.shell import address
from viz.shell.save_menu import captioned


def show_facts(prepared: Prepared, sites: list[Site], head: int) -> None:
    """The selected head's measures, and all heads' in a table."""
    one, every = st.columns([2, 5], gap="large")
    with one:
        for site in sites:
            show_head_facts(prepared, site, head)
    with every:
        kinds = {site.kind for site in sites}
        facts = {site: facts for site, facts in prepared.facts.items() if site.kind in kinds}
        show_every_head(prepared, facts)
        labelled = "; labels come from other sentences" if prepared.labels else ""
        captioned(
            f"Every head on this sentence{labelled}. Click a column's name to sort, a row's box to "
            "see its head.",
            [HeadMeasures(prepared.seen, facts)],
            KEYS("facts"),
        )


def show_every_head(prepared: Prepared, facts: Facts) -> None:
    """A table of the heads' measures."""
    named = {site: labels for site, labels in prepared.labels.items() if site in facts}
    counted = measures_of(prepared.reading)
    table = facts_table(facts, named, counted)
    if not named:
        table = table.drop(columns=["Label", "Holds in"])
    written = {
        measure.name: partial(
            style.percent if measure.unit == "share" else style.fixed, digits=digits
        )
        for measure in counted
        if measure.name in table
        for digits in [0 if measure.unit == "share" else 2]
    }
    rows = [
        Head(site, head)
        for site in sorted(facts)
        for head in range(prepared.seen.maps[site].n_heads)
    ]
    st.dataframe(
        # The grid itself would write a hyphen for a minus sign, and −0.
        table.style.format(written, na_rep=""),
        key=KEYS("every-head"),
        hide_index=True,
        height=390,
        column_config=table_columns(prepared.reading),
        on_select=partial(select_row, rows),
        selection_mode="single-row",
    )


def table_columns(reading: Reading) -> dict[str, Any]:
    """The widths of the columns, and what the measures mean."""
    columns: dict[str, Any] = {
        "Label": st.column_config.TextColumn("Label", width=style.LABEL_COLUMN_WIDTH),
        "Holds in": st.column_config.TextColumn(
            "Holds in",
            width=260,
            help="The share of new sentences in which the label holds, with its 95% interval.",
        ),
    }
    return columns | {
        measure.name: st.column_config.NumberColumn(measure.name, help=measure.meaning)
        for measure in measures_of(reading)
    }


def select_row(rows: Sequence[Head]) -> None:
    """Select the head whose row was clicked; `rows` are the heads of the table."""
    clicked = st.session_state[KEYS("every-head")].selection.rows
    if not clicked or clicked[0] >= len(rows):
        return
    site, head = rows[clicked[0]]
    layers = {other.layer for other, _ in rows if other.kind is site.kind}
    address.change(
        attention=str(site.kind),
        layer=sorted(layers).index(site.layer),
        head=head,
        compare="",
        cell="",
    )


def show_head_facts(prepared: Prepared, site: Site, head: int) -> None:
    """One head in words, and its measures, each of which opens to show what it means."""
    facts = prepared.facts[site]
    lines = "".join(
        f"<details><summary><span>{escape_html(measure.name)}</span> "
        f"<b>{escape_html(written(measure, float(facts[measure.key][head])))}</b></summary>"
        f"<small>{escape_html(measure.meaning)}</small></details>"
        for measure in measures_of(prepared.reading)
        if measure.key in facts and site.kind in measure.kinds
    )
    words = head_words(prepared.seen.maps[site], facts, prepared.reading)[head]
    st.html(
        f"<style>{css.FACTS_CSS}</style><h3>{site.kind.full_name}, layer {site.layer}, "
        f"head {head}</h3>{verdict(prepared, site, head)}"
        f'<p>On this sentence: {escape_html(words.sentence)}</p><div class="facts">{lines}</div>'
    )


def verdict(prepared: Prepared, site: Site, head: int) -> str:
    """The evidence for a head's label, as HTML; empty for a model without labels."""
    labels = prepared.labels.get(site)
    if labels is None:
        return ""
    if (label := labels[head]) is None:
        return "<p>No label: too few sentences to tell.</p>"
    if label.is_rule:
        return (
            f"<p><b>{escape_html(upper_first(label.text))}.</b><br>{escape_html(label.reason)}</p>"
        )
    # The picture has told a label that was earned.
    tendency = "" if label.earned else f"{escape_html(label.text)}<br>"
    return f"<p>{tendency}{escape_html(label.reason)}</p>"
