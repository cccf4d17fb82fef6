"""Keys of widgets, containers and session values: each page and each panel has its own."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one owner; those of two owners never meet.

    Attributes:
        owner: the name of a page, or of a part of the frame around all pages. No other owner has
            it, no parameter that all pages share is called so, and none begins with another's name
            and a hyphen.
    """

    owner: str

    def __call__(self, *parts: object) -> str:
        """A key, such as "effects-off-none"; without parts, that of the owner itself."""
        return "-".join(map(str, (self.owner, *parts)))
