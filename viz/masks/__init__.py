"""The masks page: masks, edits of masks, and their effects."""
