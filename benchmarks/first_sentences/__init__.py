"""Sentences that people type first, and whether a model translates them correctly."""
