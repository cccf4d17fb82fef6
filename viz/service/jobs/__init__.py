"""The questions that a page asks a model, each a decorated function; see `viz.service.job`."""
