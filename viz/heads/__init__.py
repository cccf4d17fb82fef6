"""The heads page: what attention heads look at, measured, in words and in pictures."""
