"""Talks: scenes with notes, on stage or as a reading."""
