"""What a visitor can ask of a sentence and its model, each with a page that shows the answer."""
