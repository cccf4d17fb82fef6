"""The declaration of the about page."""

from dataclasses import dataclass

from viz.links.parameters import View

VIEW = View("about", "About", ":material/info:", asks=False)


@dataclass(frozen=True, slots=True)
class AboutView:
    """What the about page shows: always the same."""
