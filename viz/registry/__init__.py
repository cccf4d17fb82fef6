"""The pages and the pictures of the app, by name."""
