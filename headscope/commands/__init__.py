"""The commands: one module each, with `fill` for its options, `run`, and the errors it reports."""
