"""The corpus page: what heads do over many sentences, said as rules and held to them."""
