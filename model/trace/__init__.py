"""Recorded passes, as arrays and strings without torch."""
