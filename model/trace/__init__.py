"""What one pass showed, as arrays and strings without torch."""
