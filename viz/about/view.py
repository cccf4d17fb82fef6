"""The declaration of the about page."""

from viz.links.parameters import View

VIEW = View("about", "About", ":material/info:", asks=False)
