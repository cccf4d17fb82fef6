"""The masks page: who may look where, what changes it, and what that does."""
