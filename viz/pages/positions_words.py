"""A word, its position and their sum, and what both mean for the scores of the first layer."""

from model.record.intervention import PositionError
from viz.browser.matrices import matrices
from viz.draw.labels import axis_texts, escape_markdown
from viz.pages.positions_asked import Asked
from viz.positions.embedding_sum import EmbeddingSum
from viz.positions.score_terms import TermShares
from viz.positions.view import KEYS
from viz.positions.word_sum import WordSum
from viz.service import session
from viz.service.jobs.running import term_shares
from viz.shell import address, stage
from viz.shell.save_menu import captioned, show_picture
from viz.shell.widgets import hint, menu

PARTS_HEIGHT = 17
"""The height in rem of a matrix where positions meet words."""

WORD = KEYS("word-sum")


def place_of(asked: Asked) -> int:
    """The position of the word that is shown, at most the last of the sentence."""
    return min(asked.view.at, len(asked.source) - 1)


def picture_of(asked: Asked, place: int) -> WordSum:
    sentence = asked.question.sentence
    return WordSum(asked.model.embedding_parts(sentence), sentence, place)


def choose_word(asked: Asked) -> None:
    address.change(at=place_of(asked))
    names = enumerate(axis_texts(asked.source))
    menu("Word", names, key=KEYS("at"), hides_label=True, width=170)


def show_words(asked: Asked) -> None:
    """One word and its position, then all of them, and the terms of the first layer's scores."""
    question, sentence = asked.question, asked.question.sentence
    show_picture(picture_of(asked, place_of(asked)), WORD)
    picture = EmbeddingSum(asked.model.embedding_parts(sentence), sentence)
    matrices(picture.panels, key=KEYS("parts"), height=PARTS_HEIGHT, abreast=2)
    captioned(escape_markdown(picture.caption), [picture], KEYS("parts-of-words"))
    try:
        shares = session.ask(term_shares(question.version, sentence))
    except PositionError as error:
        hint(escape_markdown(str(error)))
        return
    show_picture(TermShares(shares, sentence), KEYS("terms"))


def show_words_on_stage(asked: Asked) -> None:
    place = place_of(asked)
    places = range(len(asked.source))
    stage.offer("Up and down: word", down=stage.Step(KEYS("at"), places, place))
    with stage.picture():
        stage.show((picture_of(asked, place), WORD))
