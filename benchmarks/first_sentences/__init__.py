"""Sentences that people type first, with checks of their translations."""
