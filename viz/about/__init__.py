"""The page about the pictures, the labels and the model."""
