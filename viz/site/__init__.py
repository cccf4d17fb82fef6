"""Headscope without a server: a model that runs in the browser, as one file or as a site."""
