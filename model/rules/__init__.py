"""Rules that say where a head looks, in words and as weights."""
