"""The page about the app as it declares itself."""

from viz.links.parameters import View

VIEW = View("about", "About", ":material/info:", asks=False)
