"""The about page: the pictures, the labels and the model."""
