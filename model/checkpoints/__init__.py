"""Models on disk: weights, tokenizer, metrics and card."""
