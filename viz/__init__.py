"""Everything a person sees: figures, labels, style, caching and pages."""
