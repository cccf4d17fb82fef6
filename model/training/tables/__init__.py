"""Words and patterns of the training, as tables: a row a line, its columns divided by tabs."""

from pathlib import Path

TABLES = Path(__file__).parent


def rows(path: Path) -> list[list[str]]:
    """The rows of a table, its header included if it has one."""
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


def grouped(name: str) -> dict[str, list[list[str]]]:
    """The rows of a table here, below its header, without their first column and by it."""
    groups: dict[str, list[list[str]]] = {}
    for group, *columns in rows(TABLES / name)[1:]:
        groups.setdefault(group, []).append(columns)
    return groups
