"""A picture as files: images, numbers, Python for a notebook."""
