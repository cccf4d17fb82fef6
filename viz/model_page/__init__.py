"""The paper's Figure 1 with a sentence running through it."""
