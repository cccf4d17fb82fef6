"""The page about the app as it declares itself."""

from viz.view import View

VIEW = View("about", "About", ":material/info:", asks=False)
