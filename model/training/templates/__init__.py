"""Sentence pairs made from templates where a rule of German grammar is certain."""
