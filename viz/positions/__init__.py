"""The positions page: how a model encodes order, and how scores use it."""
