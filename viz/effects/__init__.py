"""The effects page: what each head does for a translation, and what changes without it."""
