"""The base of pictures of a decoding: its search in words and as Python."""

from model.paper.search import Search
from model.trace.translation import Decoding
from viz.links.link_interventions import Changes
from viz.save.notebook import Lines, public
from viz.save.picture import Picture


class DecodingPicture(Picture):
    """A picture of a decoding.

    Attributes:
        changes: what the model did differently meanwhile; titles name it.
    """

    __slots__ = ()

    decoding: Decoding
    search: Search
    changes: Changes

    @property
    def source(self) -> str:
        return self.decoding.translation.source_text

    @property
    def under(self) -> str:
        """The end of a call that applies the changes."""
        return ", under=changes.under" if self.changes else ""

    @property
    def given(self) -> Lines:
        changes = [f"changes = {public(self.changes)}"] if self.changes else []
        return [f"sentence = {self.source!r}", f"search = {public(self.search)}", *changes]

    @property
    def decoded(self) -> Lines:
        """The lines that decode the sentence."""
        return [*self.given, f"decoding = translator.decode(sentence, search=search{self.under})"]

    @property
    def traced(self) -> Lines:
        """The lines that decode the sentence and record its translation."""
        return [*self.decoded, f"trace = translator.trace_of(decoding.translation{self.under})"]

    @property
    def setup(self) -> Lines:
        return self.decoded
