"""The positions page: how a model encodes order, and what becomes of it in the scores."""
