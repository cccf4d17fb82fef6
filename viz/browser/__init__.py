"""The JavaScript and CSS of the components, and the Python that mounts them."""
