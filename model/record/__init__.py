"""Recording a pass, and running it with other masks, positions or heads."""
