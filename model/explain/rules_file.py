"""Rules of heads on disk: rules.json of a checkpoint folder."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

from model.checkpoints.folder_files import own_file, read_json
from model.checkpoints.shipped import CheckpointError
from model.explain.head_rules import HeadRules, findings_from_json, findings_to_json
from model.files import write_whole

HEAD_RULES = "rules.json"

FORMAT = 1
"""Of the file."""


def save_head_rules(directory: Path, rules: HeadRules) -> None:
    """Write rules.json of a checkpoint folder, a line for each head."""
    content = {each.name: getattr(rules, each.name) for each in fields(rules)}
    heads = ",\n".join(f"    {json.dumps(each)}" for each in findings_to_json(rules.heads))
    head_fields = ",\n".join(
        f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in {"format": FORMAT, **content}.items()
        if name != "heads"
    )
    text = f'{{\n{head_fields},\n  "heads": [\n{heads}\n  ]\n}}\n'
    write_whole(directory / HEAD_RULES, text.encode())


def read_head_rules(directory: Path) -> HeadRules | None:
    """The rules in rules.json of a checkpoint folder; None without the file.

    Raises CheckpointError if the file is damaged or of a newer version. Rules with terms that this
    version does not know are left out.
    """
    path = own_file(directory, HEAD_RULES)
    if not path.exists():
        return None
    content = read_json(path)
    if isinstance(content, dict) and content.get("format") not in range(FORMAT + 1):
        raise CheckpointError(
            f"{path} was written by another version of Headscope. Update this one, or delete the "
            "file."
        )
    try:
        source, target = map(str, content["languages"])
        return HeadRules(
            weights=str(content["weights"]),
            data=str(content["data"]),
            licence=str(content["licence"]),
            fitted=int(content["fitted"]),
            chosen=int(content["chosen"]),
            judged=int(content["judged"]),
            languages=(source, target),
            heads=dict(findings_from_json(content["heads"])),
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        raise CheckpointError(
            f"{path} is damaged. Delete it, or write it anew with headscope survey."
        ) from None
