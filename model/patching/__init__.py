"""Activations of one sentence's run, put into the run of another: what the model then writes."""
