"""The vocabulary of charts: a picture states its data, its words and its marks."""
