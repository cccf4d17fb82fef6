"""Inquiries about how to do something: where to click, on the page where that is."""

from functools import partial

from viz.compare.view import CompareView
from viz.corpus.view import CorpusView
from viz.effects.view import EffectsView
from viz.inquiries.corpus import survey_of
from viz.inquiries.inquiry import Inquiries, Subject, is_model
from viz.inquiries.terms import Term, about, ask_of, heads, model, of_model
from viz.masks.view import MasksView
from viz.positions.view import PositionsView


def _code(subject: Subject) -> str:
    name = subject.of_model.model_name if subject.is_model else "en-de"
    return (
        f"import headscope as hs; hs.show(hs.load({name!r}).trace(…)) draws every head in a "
        "notebook cell. Save, Python, below a picture writes the code that makes it."
    )


ALWAYS = (
    Term(
        "how-save",
        "How do I save a picture?",
        "Click Save below it: PNG, SVG or PDF, the numbers as CSV, JSON or NPZ, an HTML page, or "
        "the Python that makes it.",
        heads,
    ),
    Term(
        "how-film",
        "How do I make a film?",
        "Click Save below the picture and choose MP4, WebM or GIF: the sentence runs through the "
        "model once more, as a film.",
        model,
    ),
    Term(
        "how-embed",
        "How do I put this on a web page?",
        "Click Save below a picture and choose HTML: one file with everything in it, which works "
        "offline, as a page or in an iframe.",
        heads,
    ),
    Term(
        "how-python",
        "How do I use this from Python?",
        _code,
        heads,
    ),
    Term(
        "how-share",
        "How do I share this?",
        "Click Share at the top right: the link holds exactly this view, with your sentence.",
        heads,
    ),
    Term(
        "how-present",
        "How do I show this to an audience?",
        "Press P, or click Present at the top: the picture fills the window in large type. Escape "
        "ends it.",
        heads,
    ),
    Term(
        "how-talk",
        "How do I make a talk of my own?",
        "Open Scenes at the top right and click “Save this view as a scene”. Scenes in order are "
        "a talk, with a note for each; “Attention in twelve scenes” is an example.",
        heads,
    ),
    Term(
        "how-own-model",
        "Can I use my own model?",
        "Yes. Put its folder, such as one from Hugging Face, beside checkpoints/en-de, and it "
        "appears in the menu at the right of the sentence. From Python, hs.watching() records any "
        "PyTorch module.",
        heads,
    ),
    Term(
        "how-open-file",
        "How do I open a file?",
        "Open the menu at the right of the sentence: below the models, it takes a trace of any "
        "model, saved as .npz.",
        heads,
    ),
    Term(
        "how-sentence",
        "How do I use another sentence?",
        "Type it in the field at the top and press Enter. Examples, beside the field, has "
        "sentences on which this page shows something.",
        model,
    ),
    Term(
        "how-zoom",
        "How do I see one head larger?",
        "Click it in the overview. The arrow keys then move from head to head, and + and − zoom.",
        heads,
    ),
    Term(
        "how-lines",
        "How do I draw lines between the words?",
        "Click Lines above the heads: the selected head is drawn between two columns of words.",
        heads,
    ),
    Term(
        "how-words",
        "How do I show whole words?",
        "Click Options above the heads: whole words, special tokens, the order of the heads, and "
        "several heads in one picture.",
        heads,
    ),
    Term(
        "how-back",
        "How do I undo something?",
        "Use your browser's Back button: the address holds the whole view, so every change is a "
        "step back.",
        model,
    ),
    Term(
        "how-dark",
        "How do I switch to dark mode?",
        "Open the menu with three dots at the top right and choose the theme.",
        model,
    ),
    Term(
        "how-keys",
        "Which keys can I use?",
        "Ctrl+K or ⌘K asks, P presents, X switches the selected head off, the arrow keys move "
        "among heads, + and − zoom. On stage, ? lists the keys.",
        heads,
    ),
    Term(
        "how-learn",
        "Where can I read more?",
        "This page lists the papers and explains the basic terms. Scenes at the top right has a "
        "talk, “Attention in twelve scenes”; its Read goes through it at your pace.",
        about,
    ),
    Term(
        "how-train",
        "How do I train a model?",
        "In a checkout, with python -m model.training.train; model/training/README.md describes "
        "data, settings and export.",
        about,
    ),
)

OF_MODELS = (
    Term(
        "how-own-target",
        "How do I give my own translation?",
        "Open the menu at the right of the sentence and type it as the target: every page then "
        "shows the attention as if the model had written it.",
        heads,
    ),
    Term(
        "how-switch-off",
        "How do I switch a head off?",
        "Click Switch off below the head's name, or press X: the translation above turns into the "
        "one without it. The effects page switches off several.",
        heads,
    ),
    Term(
        "how-compare",
        "How do I compare two sentences?",
        "Type the second one on this page: both translations stand side by side, with what every "
        "head does differently. Two models and two searches work likewise.",
        partial(of_model, CompareView()),
    ),
    Term(
        "how-paint",
        "How do I make a mask of my own?",
        "Click cells in the grid on this page: the model runs with what you paint, and the page "
        "shows what changes.",
        partial(of_model, MasksView(part="change")),
    ),
    Term(
        "how-shuffle",
        "How do I change the order of the words?",
        "Drag the words on this page, or move them with the arrow keys: the model reads them in "
        "that order.",
        partial(of_model, PositionsView(topic="shuffle")),
    ),
    Term(
        "how-many-off",
        "How do I remove many heads?",
        "Choose them on this page under the heads to switch off: it fades or removes them, or "
        "replaces their weights, and shows the translation without them.",
        partial(of_model, EffectsView()),
    ),
)

OF_SURVEYS = (
    Term(
        "how-find",
        "How do I find sentences in which a head does something?",
        "Type words, choose a head, and say where it looks: the page shows the sentences in which "
        "it does so most.",
        lambda subject: CorpusView(over="find"),
    ),
    Term(
        "how-draw",
        "How do I find a head by its pattern?",
        "Draw on the grid where a head should look: the page ranks the heads by how much they "
        "look there.",
        lambda subject: CorpusView(over="draw"),
    ),
)


inquiry = Inquiries()

ask_of(inquiry, ALWAYS)
ask_of(inquiry, OF_MODELS, is_model)
ask_of(inquiry, OF_SURVEYS, lambda subject: survey_of(subject) is not None)
