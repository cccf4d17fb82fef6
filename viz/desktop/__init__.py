"""The app in a desktop window."""
