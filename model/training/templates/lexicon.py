"""Words of the templates: English and German, with their German grammar."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from model.training.templates.german import Noun

WORDS = Path(__file__).parent / "words"
"""nouns.tsv, where "m*" is a weak masculine noun, and senses.tsv."""


_ENGLISH_PLURALS = {
    **{"man": "men", "woman": "women", "child": "children", "mouse": "mice", "wolf": "wolves"},
    **{"goose": "geese", "sheep": "sheep", "fish": "fish", "knife": "knives", "thief": "thieves"},
    **{"wife": "wives", "policeman": "policemen", "shelf": "shelves"},
    **{"foot": "feet", "tooth": "teeth", "ox": "oxen", "deer": "deer", "hero": "heroes"},
    **{"leaf": "leaves", "crisis": "crises", "phenomenon": "phenomena", "louse": "lice"},
    **{"criterion": "criteria", "analysis": "analyses", "thesis": "theses", "scarf": "scarves"},
    **{"series": "series", "species": "species", "fungus": "fungi"},
    **{"dwarf": "dwarves", "calf": "calves", "matrix": "matrices"},
}


def _english_plural(noun: str) -> str:
    if noun in _ENGLISH_PLURALS:
        return _ENGLISH_PLURALS[noun]
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    ends = ("s", "x", "ch", "sh", "tato", "mato")
    return noun + ("es" if noun.endswith(ends) else "s")


def _nouns() -> dict[str, tuple[Noun, ...]]:
    kinds: dict[str, list[Noun]] = {}
    lines = (WORDS / "nouns.tsv").read_text(encoding="utf-8").splitlines()
    for line in lines[1:]:
        kind, english, german, gender, plural, genitive = line.split("\t")
        noun = Noun(
            english,
            german,
            gender[0],
            plural,
            _english_plural(english),
            genitive,
            weak=gender.endswith("*"),
        )
        kinds.setdefault(kind, []).append(noun)
    return {kind: tuple(nouns) for kind, nouns in kinds.items()}


NOUNS: dict[str, tuple[Noun, ...]] = _nouns()
"""Nouns by kind."""

PEOPLE = NOUNS["man"] + NOUNS["woman"] + tuple(n for n in NOUNS["child"] if n.english == "girl")
RELATIVES, THINGS, ANIMALS = NOUNS["relative"], NOUNS["thing"], NOUNS["animal"]
EVERYTHING = tuple({noun.german: noun for kind in NOUNS.values() for noun in kind}.values())


class Verb(NamedTuple):
    """A transitive verb with haben, of an accusative object.

    English base form, third person, past and participle; German infinitive, third person present,
    preterite and participle.
    """

    base: str
    present: str
    past: str
    participle: str
    infinitive: str
    er_present: str
    er_past: str
    german_participle: str


def _verbs(table: str) -> tuple[Verb, ...]:
    return tuple(Verb(*line.split()) for line in table.splitlines() if line.strip())


TO_PEOPLE = _verbs("""
    see sees saw seen sehen sieht sah gesehen
    know knows knew known kennen kennt kannte gekannt
    love loves loved loved lieben liebt liebte geliebt
    hear hears heard heard hören hört hörte gehört
    visit visits visited visited besuchen besucht besuchte besucht
    understand understands understood understood verstehen versteht verstand verstanden
    find finds found found finden findet fand gefunden
    greet greets greeted greeted begrüßen begrüßt begrüßte begrüßt
    ask asks asked asked fragen fragt fragte gefragt
    praise praises praised praised loben lobt lobte gelobt
    admire admires admired admired bewundern bewundert bewunderte bewundert
    kiss kisses kissed kissed küssen küsst küsste geküsst
    catch catches caught caught fangen fängt fing gefangen
    hate hates hated hated hassen hasst hasste gehasst
    save saves saved saved retten rettet rettete gerettet
""")
OF_ANIMALS = _verbs("""
    bite bites bit bitten beißen beißt biss gebissen
    chase chases chased chased jagen jagt jagte gejagt
    see sees saw seen sehen sieht sah gesehen
    hear hears heard heard hören hört hörte gehört
    eat eats ate eaten fressen frisst fraß gefressen
    watch watches watched watched beobachten beobachtet beobachtete beobachtet
    follow follows followed followed verfolgen verfolgt verfolgte verfolgt
    catch catches caught caught fangen fängt fing gefangen
""")
TO_THINGS = _verbs("""
    find finds found found finden findet fand gefunden
    sell sells sold sold verkaufen verkauft verkaufte verkauft
    buy buys bought bought kaufen kauft kaufte gekauft
    steal steals stole stolen stehlen stiehlt stahl gestohlen
    repair repairs repaired repaired reparieren repariert reparierte repariert
    clean cleans cleaned cleaned reinigen reinigt reinigte gereinigt
    lose loses lost lost verlieren verliert verlor verloren
    forget forgets forgot forgotten vergessen vergisst vergaß vergessen
    need needs needed needed brauchen braucht brauchte gebraucht
    see sees saw seen sehen sieht sah gesehen
    break breaks broke broken zerbrechen zerbricht zerbrach zerbrochen
    use uses used used benutzen benutzt benutzte benutzt
    hide hides hid hidden verstecken versteckt versteckte versteckt
""")

JOBS = {
    "teacher": ("Lehrer", "Lehrerin"),
    "doctor": ("Arzt", "Ärztin"),
    "lawyer": ("Anwalt", "Anwältin"),
    "pilot": ("Pilot", "Pilotin"),
    "student": ("Student", "Studentin"),
    "engineer": ("Ingenieur", "Ingenieurin"),
    "writer": ("Schriftsteller", "Schriftstellerin"),
    "journalist": ("Journalist", "Journalistin"),
    "musician": ("Musiker", "Musikerin"),
    "baker": ("Bäcker", "Bäckerin"),
    "cook": ("Koch", "Köchin"),
    "nurse": ("Krankenpfleger", "Krankenschwester"),
    "painter": ("Maler", "Malerin"),
    "dentist": ("Zahnarzt", "Zahnärztin"),
    "singer": ("Sänger", "Sängerin"),
    "scientist": ("Wissenschaftler", "Wissenschaftlerin"),
    "architect": ("Architekt", "Architektin"),
    "artist": ("Künstler", "Künstlerin"),
    "politician": ("Politiker", "Politikerin"),
    "professor": ("Professor", "Professorin"),
    "judge": ("Richter", "Richterin"),
    "photographer": ("Fotograf", "Fotografin"),
    "translator": ("Übersetzer", "Übersetzerin"),
    "programmer": ("Programmierer", "Programmiererin"),
    "dancer": ("Tänzer", "Tänzerin"),
    "gardener": ("Gärtner", "Gärtnerin"),
    "hairdresser": ("Friseur", "Friseurin"),
    "physicist": ("Physiker", "Physikerin"),
    "researcher": ("Forscher", "Forscherin"),
    "driver": ("Fahrer", "Fahrerin"),
    "farmer": ("Bauer", "Bäuerin"),
    "director": ("Direktor", "Direktorin"),
}
"""Of a man, and of a woman."""

COLORS = {
    **{"red": "rot", "blue": "blau", "green": "grün", "white": "weiß", "black": "schwarz"},
    **{"yellow": "gelb", "brown": "braun", "gray": "grau"},
}
SIZES = {
    **{"big": "groß", "small": "klein", "old": "alt", "new": "neu", "beautiful": "schön"},
    **{"expensive": "teuer", "cheap": "billig", "heavy": "schwer", "light": "leicht"},
}
"""Of things, as a predicate."""

TRAITS = {
    **{"quick": "schnell", "lazy": "faul", "old": "alt", "young": "jung", "hungry": "hungrig"},
    **{"little": "klein", "big": "groß", "clever": "klug", "tired": "müde", "brave": "mutig"},
    **{"wild": "wild", "fat": "dick", "happy": "glücklich", "angry": "wütend", "slow": "langsam"},
    **{"sick": "krank", "poor": "arm", "strong": "stark", "beautiful": "schön", "funny": "lustig"},
}
"""Of people and animals."""

STEMS = {"teuer": "teur", "dunkel": "dunkl", "sauer": "saur", "hoch": "hoh"}
"""Adjectives whose stem before an ending is another."""

CITIES = {
    **{"Vienna": "Wien", "Cologne": "Köln", "Munich": "München", "Nuremberg": "Nürnberg"},
    **{"Berlin": "Berlin", "Hamburg": "Hamburg", "London": "London", "Paris": "Paris"},
    **{"Rome": "Rom", "Venice": "Venedig", "Zurich": "Zürich", "Geneva": "Genf"},
    **{"Prague": "Prag", "Warsaw": "Warschau", "Moscow": "Moskau", "Athens": "Athen"},
    **{"Milan": "Mailand", "Brussels": "Brüssel", "Copenhagen": "Kopenhagen", "Tokyo": "Tokio"},
    **{"New York": "New York", "Boston": "Boston", "Hanover": "Hannover", "Lisbon": "Lissabon"},
}

_ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_EINS = ("ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun")
_ZEHNER = ("zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig")

NUMBERS = [
    *(("two", "zwei"), ("three", "drei"), ("four", "vier"), ("five", "fünf"), ("six", "sechs")),
    *(("seven", "sieben"), ("eight", "acht"), ("nine", "neun"), ("ten", "zehn")),
    *(("eleven", "elf"), ("twelve", "zwölf"), ("thirteen", "dreizehn"), ("fourteen", "vierzehn")),
    *(("fifteen", "fünfzehn"), ("sixteen", "sechzehn"), ("seventeen", "siebzehn")),
    *(("eighteen", "achtzehn"), ("nineteen", "neunzehn")),
    *(zip(_TENS, _ZEHNER, strict=True)),
    *(
        (f"{ten}-{one}", f"{eins}und{zehner}")
        for ten, zehner in zip(_TENS, _ZEHNER, strict=True)
        for one, eins in zip(_ONES, _EINS, strict=True)
    ),
]
"""From two on, as words."""

ORDINALS = (
    *(("first", "erst"), ("second", "zweit"), ("third", "dritt"), ("fourth", "viert")),
    *(("fifth", "fünft"), ("sixth", "sechst"), ("seventh", "siebt"), ("eighth", "acht")),
    *(("ninth", "neunt"), ("tenth", "zehnt"), ("eleventh", "elft"), ("twelfth", "zwölft")),
    *(("twentieth", "zwanzigst"), ("hundredth", "hundertst")),
)
"""With the stem that takes the German ending."""

MONTHS = (
    *(("January", "Januar"), ("February", "Februar"), ("March", "März"), ("April", "April")),
    *(("May", "Mai"), ("June", "Juni"), ("July", "Juli"), ("August", "August")),
    *(("September", "September"), ("October", "Oktober"), ("November", "November")),
    ("December", "Dezember"),
)

HOURS = [
    *(("one", "eins"), ("two", "zwei"), ("three", "drei"), ("four", "vier"), ("five", "fünf")),
    *(("six", "sechs"), ("seven", "sieben"), ("eight", "acht"), ("nine", "neun"), ("ten", "zehn")),
    *(("eleven", "elf"), ("twelve", "zwölf")),
]
HALF_HOURS = [
    (hour, naechste) for (hour, _), (_, naechste) in zip(HOURS, HOURS[1:] + HOURS[:1], strict=True)
]
"""The words of "half past one" and "halb zwei"."""

FEMALE = frozenset(noun.english for noun in NOUNS["woman"]) | {
    *("mother", "sister", "aunt", "daughter", "grandmother", "wife", "girlfriend", "niece", "girl")
}
"""English nouns for women and girls."""

MY = (
    *(("my", "mein"), ("my", "mein"), ("my", "mein"), ("your", "dein"), ("his", "sein")),
    *(("her", "ihr"), ("our", "unser"), ("their", "ihr")),
)
"""Possessives; the first person comes most often."""
