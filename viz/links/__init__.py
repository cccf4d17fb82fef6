"""What an address holds: parameters, heads, mask edits."""
