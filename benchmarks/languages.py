"""The table by which the site guesses a sentence's language, from py3langid's much larger one.

`python -m benchmarks.languages` writes viz/browser/live/languages.json. With `--data PAIRS.tsv`, it
also counts what the table takes for foreign: English sentences and their translations, one pair a
line, with a tab between.
"""

import argparse
import base64
import json
import math
from pathlib import Path

import numpy as np
from py3langid.langid import MODEL_FILE, LanguageIdentifier

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt")
GRAMS, LONGEST = 2500, 5
"""How many sequences of bytes are kept, and the longest of them."""
STEP = 1 / 12
"""Of a weight, which is kept in one byte."""
AHEAD = 2
"""As in viz/browser/live/language.js."""
FILE = Path(__file__).parents[1] / "viz" / "browser" / "live" / "languages.json"


def table() -> tuple[list[bytes], np.ndarray]:
    """The sequences of bytes that tell most, and the weight of each for each language."""
    model = LanguageIdentifier.from_model_file(MODEL_FILE)
    grams = _grams(model)
    columns = [model.nb_classes.index(name) for name in LANGUAGES]
    rows = np.array(sorted(grams))
    log_probs = model.nb_ptc[np.ix_(rows, columns)].astype(np.float64)
    weights = log_probs - log_probs.mean(axis=1, keepdims=True)
    tells = (np.exp(log_probs) * np.abs(weights)).sum(axis=1)
    tells *= [len(grams[row]) <= LONGEST for row in rows]
    most = np.argsort(-tells, kind="stable")[:GRAMS]
    rounded = np.clip(np.round(weights[most] / STEP), -127, 127).astype(np.int8)
    return [grams[row] for row in rows[most]], rounded


def _grams(model: LanguageIdentifier) -> dict[int, bytes]:
    """The bytes of each feature: the shortest sequence that leads to a state which counts it."""
    moves, rows = np.asarray(model.tk_nextmove), np.asarray(model.tk_row, dtype=np.int64) * 256
    spelled, states = {0: b""}, [0]
    grams: dict[int, bytes] = {}
    while states:
        reached, first = np.unique(moves[rows[states][:, None] + np.arange(256)], return_index=True)
        before = states
        states = [state for state in reached.tolist() if state not in spelled]
        for state, place in zip(reached.tolist(), first.tolist(), strict=True):
            spelled.setdefault(state, spelled[before[place // 256]] + bytes([place % 256]))
        for state in states:
            found = model.tk_output[state]
            for feature in (found,) if isinstance(found, int) else found:
                if feature >= 0:
                    grams.setdefault(feature, spelled[state])
    return grams


def lead(text: str, known: dict[bytes, np.ndarray], language: str) -> float:
    """How far another language is ahead of this one."""
    content = (text.lower() if text.isupper() else text).encode()
    counts: dict[bytes, int] = {}
    for start in range(len(content)):
        for end in range(start + 1, min(start + LONGEST, len(content)) + 1):
            if content[start:end] in known:
                counts[content[start:end]] = counts.get(content[start:end], 0) + 1
    scores = sum((math.log1p(n) * known[gram] for gram, n in counts.items()), np.zeros(7))
    place = LANGUAGES.index(language)
    return float(np.delete(scores, place).max() - scores[place]) / math.sqrt(len(content) or 1)


def main() -> None:
    """Write the table, and count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    arguments = parser.parse_args()
    grams, weights = table()
    packed = [base64.b64encode(each).decode() for each in (b"\0".join(grams), weights.tobytes())]
    written = {"names": LANGUAGES, "grams": packed[0], "weights": packed[1]}
    FILE.write_text(json.dumps(written) + "\n", encoding="utf-8")
    print(f"{len(grams)} sequences of bytes, {FILE.stat().st_size} bytes")
    if arguments.data is None:
        return
    known = {gram: row * STEP for gram, row in zip(grams, weights, strict=True)}
    lines = arguments.data.read_text(encoding="utf-8").splitlines()
    for side, texts in enumerate(zip(*(line.split("\t")[:2] for line in lines), strict=True)):
        foreign = sum(lead(text, known, "en") > AHEAD for text in texts)
        print(f"side {side + 1}: {foreign} of {len(texts)} are not taken for English")


if __name__ == "__main__":
    main()
