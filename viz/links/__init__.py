"""The content of an address: parameters, heads, mask edits."""
