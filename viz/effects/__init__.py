"""The effects page: what each head does for a translation, and what becomes of it without some."""
