"""Acts: short films of one thing that a model does, on one picture."""
