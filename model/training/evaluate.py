"""Score a checkpoint: `python -m model.training.evaluate --checkpoint DIR --data FILE.tsv`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sacrebleu
from tqdm import tqdm

from model.checkpoints.checkpoint import METRICS, load_checkpoint
from model.checkpoints.folder_files import read_json
from model.paper.beam_search import beam_search
from model.paper.decoding import greedy
from model.paper.linear import pack_linears
from model.paper.tokenizer import Tokenizer
from model.paper.transformer import Transformer
from model.survey.parallel_text import Pair, read_pairs
from model.training.batches import padded
from model.training.command import Program, command
from model.translate.devices import resolve_device


def translate_all(
    model: Transformer,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    *,
    beam: int = 1,
    alpha: float = 0.6,
    batch: int = 64,
    progress: bool = False,
) -> list[str]:
    """A translation for each text, in order, by a model in eval mode on any device.

    Batches are formed by length, so that sentences of similar length share one.
    """
    device = next(model.parameters()).device
    encoded = tokenizer.encode_all(texts)
    order = sorted(range(len(encoded)), key=lambda index: -len(encoded[index]))
    translations = [""] * len(encoded)
    with tqdm(total=len(order), unit="sentence", disable=not progress) as bar:
        for start in range(0, len(order), batch):
            places = order[start : start + batch]
            source = padded([encoded[place] for place in places], device)
            if beam == 1:
                best = greedy(model, source)
            else:
                best = [beams[0] for beams in beam_search(model, source, beam=beam, alpha=alpha)]
            for place, hypothesis in zip(places, best, strict=True):
                translations[place] = tokenizer.target.decode(hypothesis.token_ids)
            bar.update(len(places))
    return translations


def translation_scores(
    translations: Sequence[str],
    references: Sequence[str],
    *,
    lowercase: bool = False,
    language: str | None = None,
) -> dict[str, Any]:
    """BLEU and chrF by sacrebleu (Post 2018), with their signatures.

    A language, a code such as "de", adds "tokenized_bleu" over the tokens of the Moses tokenizer,
    as in papers before sacrebleu. It is mostly higher than BLEU, and comparable with such papers
    only; so is a BLEU that ignores case.
    """
    bleu = sacrebleu.BLEU(tokenize="13a", lowercase=lowercase)
    chrf = sacrebleu.CHRF()
    scores = {
        "bleu": round(bleu.corpus_score(translations, [references]).score, 2),
        "chrf": round(chrf.corpus_score(translations, [references]).score, 2),
        "signature": str(bleu.get_signature()),
        "chrf_signature": str(chrf.get_signature()),
        "sentences": len(translations),
    }
    if language is not None:
        # Only papers from before sacrebleu need it, and a borrowed machine may lack it.
        from sacremoses import MosesTokenizer

        moses = MosesTokenizer(lang=language)
        cut, expected = (
            [moses.tokenize(text, return_str=True, escape=False) for text in texts]
            for texts in (translations, references)
        )
        tokenized = sacrebleu.BLEU(tokenize="none", lowercase=lowercase, force=True)
        scores["tokenized_bleu"] = round(tokenized.corpus_score(cut, [expected]).score, 2)
        scores["tokenized_signature"] = str(tokenized.get_signature())
    return scores


def reversed_columns(directory: Path) -> bool:
    """Whether a checkpoint translates from the last column of a data file, by its metrics."""
    path = directory / METRICS
    return path.exists() and bool(read_json(path).get("training", {}).get("reverse"))


def evaluate_checkpoint(
    directory: Path,
    pairs: Sequence[Pair],
    *,
    device: str = "auto",
    beam: int = 4,
    alpha: float = 0.6,
    lowercase: bool = False,
    language: str | None = None,
    progress: bool = False,
) -> tuple[list[str], dict[str, Any]]:
    """A checkpoint's translations of a test set, with their `translation_scores`.

    Raises:
        CheckpointError: if the checkpoint is incomplete or damaged.
        DecodingError: if beam or alpha is out of range.
        DeviceError: if the machine has no such device.
    """
    place = resolve_device(device)
    checkpoint = load_checkpoint(directory)
    pack_linears(checkpoint.model)
    translations = translate_all(
        checkpoint.model.to(place),
        checkpoint.tokenizer,
        [pair.source for pair in pairs],
        beam=beam,
        alpha=alpha,
        progress=progress,
    )
    references = [pair.target for pair in pairs]
    scores = translation_scores(translations, references, lowercase=lowercase, language=language)
    return translations, scores


@command
def main(argv: list[str] | None) -> None:
    """The command line."""
    parser = Program(__spec__, __doc__, threads=2)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        help=".tsv: source, tab, reference, or the other way round for a reversed model",
    )
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--alpha", type=float, default=0.6, help="of the length penalty")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument("--lowercase", action="store_true", help="BLEU that ignores case")
    parser.add_argument(
        "--tokenized",
        metavar="LANGUAGE",
        help="also BLEU over Moses tokens, for a target language such as de",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--output", type=Path, help="write the translations here, one a line")
    arguments = parser.parse(argv)
    translations, scores = evaluate_checkpoint(
        arguments.checkpoint,
        read_pairs([arguments.data], reverse=reversed_columns(arguments.checkpoint)),
        device=arguments.device,
        beam=arguments.beam,
        alpha=arguments.alpha,
        lowercase=arguments.lowercase,
        language=arguments.tokenized,
        progress=not arguments.json,
    )
    if arguments.output:
        arguments.output.write_text("".join(f"{line}\n" for line in translations), encoding="utf-8")
    if arguments.json:
        print(json.dumps(scores, ensure_ascii=False))
    else:
        print(f"BLEU {scores['bleu']}  {scores['signature']}")
        print(f"chrF {scores['chrf']}  {scores['chrf_signature']}")
        if "tokenized_bleu" in scores:
            print(f"tokenized BLEU {scores['tokenized_bleu']}  {scores['tokenized_signature']}")
        print(f"{scores['sentences']} sentences")


if __name__ == "__main__":
    raise SystemExit(main())
