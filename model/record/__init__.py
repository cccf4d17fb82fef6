"""Recording of passes, and interventions: other masks, positions or heads."""
