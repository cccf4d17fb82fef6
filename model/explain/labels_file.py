"""Labels of heads on disk: labels.json of a checkpoint folder."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from model.checkpoints.checkpoint import LABELS, read_config
from model.checkpoints.folder_files import own_file, read_json
from model.checkpoints.shipped import CheckpointError
from model.explain.labels import Survey
from model.explain.rules_file import HEAD_RULES, read_head_rules
from model.files import write_whole
from model.paper.config import TransformerConfig
from model.trace.attention_map import AttentionKind, Site


def save_labels(directory: Path, survey: Survey) -> None:
    """Write labels.json of a checkpoint folder, a line for each head."""
    content = survey.to_json()
    sites = [
        f"    {json.dumps(site)}: [\n"
        + ",\n".join(f"      {json.dumps(head)}" for head in heads)
        + "\n    ]"
        for site, heads in content["heads"].items()
    ]
    sample = json.dumps(content["sample"], ensure_ascii=False)
    listed = ",\n".join(sites)
    text = f'{{\n  "sample": {sample},\n  "heads": {{\n{listed}\n  }}\n}}\n'
    write_whole(directory / LABELS, text.encode())


def read_labels(directory: Path) -> Survey | None:
    """The survey in labels.json of a checkpoint folder, with rules.json; None without labels.

    Raises CheckpointError if a file is damaged, or belongs to another model.
    """
    path = own_file(directory, LABELS)
    if not path.exists():
        return None
    content = read_json(path)
    try:
        survey = Survey.from_json(content)
        config = read_config(directory)
        if {site: len(heads) for site, heads in survey.heads.items()} != head_counts(config):
            raise ValueError("its heads are not those of this model")
    except ValueError as error:
        raise CheckpointError(
            f"{path} is damaged: {error}. Delete it, or write it anew with python -m "
            "model.training.labels."
        ) from None
    rules = read_head_rules(directory)
    if rules is not None and {head.site for head in rules.heads} - set(survey.heads):
        raise CheckpointError(
            f"{directory / HEAD_RULES} is of another model. Delete it, or write it anew with "
            "headscope survey."
        )
    return replace(survey, rules=rules)


def head_counts(config: TransformerConfig) -> dict[Site, int]:
    """How many heads each site of a model has, by its configuration."""
    encoder = [Site(AttentionKind.ENCODER, layer) for layer in range(config.n_encoder_layers)]
    decoder = [Site(AttentionKind.DECODER, layer) for layer in range(config.n_decoder_layers)]
    cross = [] if config.single_stack else [Site(AttentionKind.CROSS, s.layer) for s in decoder]
    return dict.fromkeys([*encoder, *decoder, *cross], config.n_heads)
