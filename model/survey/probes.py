"""The sentences that all surveys share, so that heads of different models can be matched."""

from __future__ import annotations

from collections.abc import Mapping

from model.survey.part import counted
from model.trace.attention_map import FloatArray, Site
from model.translate.translator import Translator

PROBES = (
    ("Can't we just talk this over?", "Können wir nicht einfach darüber reden?"),
    ("He sent the letter back unopened.", "Er sandte den Brief ungeöffnet zurück."),
    ("Which program did you watch yesterday?", "Welche Sendung hast du gestern gesehen?"),
    (
        "The committee members are all present.",
        "Die Ausschussmitglieder sind alle zugegen.",
    ),
    (
        "A budget deficit must be financed somehow.",
        "Ein Haushaltsdefizit muss irgendwie finanziert werden.",
    ),
    ("I saw her coming up the road.", "Ich sah sie die Straße hochkommen."),
    (
        "This book is too difficult to understand.",
        "Dieses Buch ist zu schwierig, um verstanden zu werden.",
    ),
    ("She went into her room to change her dress.", "Sie ging in ihr Zimmer, um sich umzuziehen."),
    ("Did I forget to mention that?", "Habe ich vergessen, das zu erwähnen?"),
    ("She came down to breakfast at eight.", "Sie kam um acht zum Frühstücken herunter."),
    (
        "You shouldn't have signed a confession.",
        "Sie hätten kein Geständnis unterschreiben sollen.",
    ),
    (
        "We're three hours from the border.",
        "Wir sind drei Stunden von der Grenze entfernt.",
    ),
    ("It isn't polite to stare at people.", "Es ist unhöflich, andere Leute anzustarren."),
    (
        "It's about time I was going home.",
        "Es ist an der Zeit, dass ich nach Hause gehe.",
    ),
    (
        "The door of the meeting room is open.",
        "Die Tür des Sitzungszimmers steht offen.",
    ),
    ("Do you have this jacket in different colors?", "Haben Sie diese Jacke in anderen Farben?"),
    (
        "Where did you work before you started working here?",
        "Wo haben Sie gearbeitet, bevor Sie hier angefangen haben?",
    ),
    (
        "Yesterday was Friday and the day after tomorrow is Monday.",
        "Gestern war Freitag, und übermorgen ist Montag.",
    ),
    ("Is it safe for dogs to eat fish?", "Ist es für Hunde ungefährlich, Fisch zu fressen?"),
    ("Prices rose higher and higher.", "Die Preise stiegen immer höher."),
    (
        "She waved at me before she got on board the plane.",
        "Sie winkte mir zu, bevor sie in das Flugzeug stieg.",
    ),
    ("I don't know which button to push.", "Ich weiß nicht, welchen Knopf ich drücken muss."),
    ("These shoes are too expensive.", "Diese Schuhe sind zu teuer."),
    ("Did somebody call the police?", "Hat jemand die Polizei gerufen?"),
)
"""English sentences with their German translations, from Tatoeba (CC BY 2.0 FR)."""


def probed(translator: Translator, *, german: bool = False) -> Mapping[Site, FloatArray]:
    """Every head's measures on the probes, by site, (head, sentence, measure).

    Args:
        translator: the model.
        german: whether it reads German.
    """
    part = counted(translator, [pair[german] for pair in PROBES], lambda _: False)
    return {site: part.values[:, place].swapaxes(0, 1) for place, site in enumerate(part.sites)}
