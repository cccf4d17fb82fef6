"""What phones that follow a speaker are shown."""

from model.trace.head import Head
from model.translate.translator import Translator
from viz.service.job import of_model
from viz.site.followed import followed


@of_model()
def answer_phones(
    model: Translator,
    sentence: str,
    target: str,
    off: tuple[Head, ...],
    head: Head | None,
    effects: bool,
) -> bytes:
    """The answers of `viz.site.followed` to what the phones' engine would be asked."""
    return followed(model, sentence, target, off=off, head=head, effects=effects)
