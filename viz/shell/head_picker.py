"""A field for any number of heads, and what to do with unknown heads in an address."""

from collections.abc import Iterable, Mapping, Sequence

import streamlit as st

from model.trace.attention_map import Site
from model.trace.head import Head
from model.translate.translator import Translator
from viz.links.head_refs import MOST_HEADS, read_heads
from viz.shell import address


def keep_known(parameter: str, heads: Sequence[Head], model: Translator, rest: str) -> None:
    """Remove heads that the model does not have from the address, with a notice.

    Args:
        rest: what happens to the others, as the end of a sentence.
    """
    keep_counted(parameter, heads, dict.fromkeys(model.sites, model.model.config.n_heads), rest)


def keep_counted(
    parameter: str, heads: Sequence[Head], counts: Mapping[Site, int], rest: str
) -> None:
    """`keep_known` for a model of which it is known how many heads each site has."""
    known = [head for head in heads if head.number < counts.get(head.site, 0)]
    if len(known) < len(heads):
        site, number = next(each for each in heads if each not in known)
        address.note(parameter, f"This model has no {site.kind} head {site.layer}.{number}; {rest}")
    address.change(**{parameter: tuple(known)})


def choose_heads(
    label: str,
    names: Mapping[str, str],
    selected: Iterable[Head],
    *,
    key: str,
    parameter: str,
    placeholder: str,
) -> None:
    """A field for any number of heads.

    Args:
        names: what each head is called, by kind.layer.head.
    """
    st.session_state[key] = [written for written in map(str, selected) if written in names]
    st.multiselect(
        label,
        list(names),
        address.value_of(key),
        key=key,
        format_func=names.__getitem__,
        max_selections=MOST_HEADS,
        placeholder=placeholder,
        on_change=_keep,
        args=(key, parameter),
    )


def _keep(key: str, parameter: str) -> None:
    address.change(**{parameter: read_heads("-".join(st.session_state[key]))})
