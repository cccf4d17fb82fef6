"""A model for many people at once: one queue, and a process in which it is computed."""
