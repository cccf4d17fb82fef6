"""The decoding page: how a translation is written step by step, and its alternatives."""
