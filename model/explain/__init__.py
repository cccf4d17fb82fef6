"""What heads do: measures, labels, ablation, attribution, alignment."""
