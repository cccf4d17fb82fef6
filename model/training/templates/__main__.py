"""Write sentence pairs from templates: `python -m model.training.templates --help`.

A rule of German grammar makes each pair right: negation, reasons and the pronouns that refer back,
cases, auxiliaries, conditions, passives, separable verbs, word order, relative clauses, plurals,
numbers, sums, dates, names and words of several senses.
"""

import lzma
from pathlib import Path

from model.survey.parallel_text import keys_in, read_pairs
from model.training.command import Program, command
from model.training.templates.writing import around_nouns, from_templates

SOURCE, DICTIONARY = "templates", "carriers"
"""The first column of pairs from the lexicon, and of pairs around a dictionary's nouns."""


@command
def main(argv: list[str] | None) -> None:
    """The command line."""
    parser = Program(__spec__, __doc__, threads=0)
    parser.add_argument("--output", type=Path, required=True, help=".tsv or .tsv.xz")
    parser.add_argument("--count", type=int, default=60_000, help="pairs (default 60000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--held-out",
        type=Path,
        nargs="*",
        default=[],
        help=".tsv files of sentences to leave out, in any column",
    )
    parser.add_argument(
        "--dictionary", type=Path, help="a file of words: adds sentences around its nouns"
    )
    parser.add_argument("--each", type=int, default=2, help="sentences for each of its nouns")
    arguments = parser.parse(argv)
    held_out = keys_in(arguments.held_out)
    rows = [(SOURCE, *row) for row in from_templates(arguments.count, arguments.seed, held_out)]
    if arguments.dictionary:
        words = read_pairs([arguments.dictionary])
        carriers = around_nouns(words, arguments.each, arguments.seed, held_out)
        rows += [(DICTIONARY, *row) for row in carriers]
    text = "".join(f"{name}\t{kind}\t{pair[0]}\t{pair[1]}\n" for name, kind, pair in rows)
    data = text.encode()
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_bytes(lzma.compress(data) if arguments.output.suffix == ".xz" else data)
    print(f"{len(rows):,} pairs in {arguments.output}")


if __name__ == "__main__":
    raise SystemExit(main())
