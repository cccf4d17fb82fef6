"""Text in, translation and trace out."""
