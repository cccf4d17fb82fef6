"""What the parts of the positions page were asked."""

from dataclasses import dataclass

from model.trace.attention_map import Tokens
from model.translate.translator import Translator
from viz.positions.view import PositionsView
from viz.service import session
from viz.service.questions import ModelQuestion
from viz.shell import address


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about the model's own translation, and the model."""

    question: ModelQuestion
    model: Translator

    @property
    def view(self) -> PositionsView:
        return address.read(PositionsView)

    @property
    def source(self) -> Tokens:
        """The sentence as the model reads it."""
        return session.ask(self.question.translate).translation.source
