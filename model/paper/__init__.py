"""The Transformer as the paper describes it, in the paper's order (Vaswani et al. 2017)."""
