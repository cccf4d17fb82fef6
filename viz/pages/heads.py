"""One attention head at a time: the translation, the choice of a head, and that head's weights."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from model.checkpoint import CheckpointError
from model.trace import AttentionKind, Trace
from model.translator import DeviceError, TextError, Translation, Translator
from viz import session, style
from viz.components.theme import is_dark
from viz.heads import alt_text, attention_heatmap, caption
from viz.labels import escape_html, escape_markdown, visible

SHORT_NAMES = {
    AttentionKind.ENCODER: "Encoder",
    AttentionKind.DECODER: "Decoder",
    AttentionKind.CROSS: "Cross",
}
MAX_UNSEEN = 12


def choice(
    label: str,
    options: list[Any],
    *,
    default: Any,
    illegal: list[str],
    format_func: Callable[[Any], str] = str,
) -> Any:
    """A row of buttons tied to the URL; what the URL asks for in vain goes to `illegal`."""
    key = label.lower()
    asked = st.query_params.get(key)
    # Later in a session the address only says what was clicked, and lags behind it.
    is_new = key not in st.session_state
    if is_new and asked is not None and asked not in map(format_func, options):
        illegal.append(f"{key} “{asked[:40]}”")
    chosen = st.segmented_control(
        label,
        options,
        default=default,
        required=True,
        format_func=format_func,
        key=key,
        wrap=True,
        bind="query-params",
    )
    return chosen if chosen in options else default


def choose_head(model: Translator) -> tuple[AttentionKind, int, int]:
    """Which kind of attention, which layer and which head; one warning for what there is not."""
    config = model.model.config
    illegal: list[str] = []
    kind = choice(
        "Attention",
        list(SHORT_NAMES),
        default=AttentionKind.CROSS,
        illegal=illegal,
        format_func=SHORT_NAMES.__getitem__,
    )
    encoder = kind is AttentionKind.ENCODER
    n_layers = config.n_encoder_layers if encoder else config.n_decoder_layers
    layer = choice("Layer", list(range(n_layers)), default=n_layers - 1, illegal=illegal)
    head = choice("Head", list(range(config.n_heads)), default=0, illegal=illegal)
    if illegal:
        message.warning(
            escape_markdown(
                f"This model has no {', no '.join(illegal)}, as the address asks for. "
                f"Shown instead: {SHORT_NAMES[kind].lower()}, layer {layer}, head {head}."
            ),
            icon=":material/link_off:",
        )
    return kind, layer, head


def show_translation(translation: Translation) -> None:
    """The German, large, and what there is to say against it."""
    text = visible(translation.text) or "∅"
    message.html(
        f'<p lang="de" dir="auto" style="{style.translation_css(text)}">{escape_html(text)}</p>'
    )
    if not translation.text:
        message.warning("The model gave no words for this sentence.", icon=":material/warning:")
    if not translation.finished:
        message.warning(
            "The translation was cut: the model did not end it within the length it is allowed.",
            icon=":material/content_cut:",
        )
    if unseen := translation.unseen:
        # Each kept to itself, or letters that run to the left would change places.
        listed = ", ".join(
            f"“\u2068{escape_markdown(character)}\u2069”" for character in unseen[:MAX_UNSEEN]
        )
        more = f" and {len(unseen) - MAX_UNSEEN} more" if len(unseen) > MAX_UNSEEN else ""
        message.warning(
            "The model never saw these characters in training and reads them byte by byte: "
            f"{listed}{more}.",
            icon=":material/warning:",
        )


def show_facts(model: Translator, seconds: float) -> None:
    """The model's size, where it runs and how long it took."""
    config = model.model.config
    st.caption(
        f":material/memory: {model.n_parameters / 1e6:.1f} million parameters in "
        f"{config.n_encoder_layers} encoder and {config.n_decoder_layers} decoder layers of "
        f"{config.n_heads} heads  \n"
        f":material/developer_board: {model.device.type.upper()}  \n"
        f":material/timer: translated in {seconds:.2f} s"
    )


def show_head(trace: Trace, kind: AttentionKind, layer: int, head: int) -> None:
    """One head's heatmap and how to read it."""
    seen = trace.attention(kind, layer)
    reads_target = kind in (AttentionKind.DECODER, AttentionKind.CROSS)
    st.plotly_chart(
        attention_heatmap(
            seen,
            head,
            predictions=trace.predictions if reads_target else None,
            dark=is_dark(),
        ),
        width="stretch",
        # The figure brings its own fonts and colours; Streamlit's would be laid over them.
        theme=None,
        key="heatmap",
        config=style.chart_config(f"headscope-{kind}-layer{layer}-head{head}"),
        alt=alt_text(seen, head),
    )
    st.caption(caption(seen))


def show_page(checkpoint: Path, model: Translator, sentence: str) -> None:
    """Everything, for a model that is loaded."""
    with choices:
        # Before the sentence is looked at: one that fails must not take the choice with it.
        kind, layer, head = choose_head(model)
        st.caption(
            ":material/info: A weight says where a head looks, not why the model wrote a word. "
            "Another layer or head often tells another story."
        )
    try:
        timed = session.translate(checkpoint, sentence)
        trace = session.trace(checkpoint, sentence)
    except TextError as error:
        message.warning(escape_markdown(str(error)), icon=":material/edit:")
        return
    show_translation(timed.translation)
    with choices:
        show_facts(model, timed.seconds)
    with picture:
        show_head(trace, kind, layer, head)


message = st.container()
picture, choices = st.columns([4, 1.3], gap="large")
try:
    checkpoint = session.checkpoint_folder()
    model = session.translator(checkpoint)
except (CheckpointError, DeviceError) as error:
    message.error(escape_markdown(str(error)), icon=":material/error:")
else:
    show_page(checkpoint, model, st.session_state["sentence"])
