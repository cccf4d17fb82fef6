"""Jobs for the model, the process that computes them, and what a session keeps."""
