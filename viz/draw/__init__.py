"""How things look: colours and sizes, labels, panels of cells and their figures."""
