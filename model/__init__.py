"""The Transformer of "Attention Is All You Need", trained, with every attention head recorded."""
