"""Two runs side by side: of two sentences, or of two models."""
