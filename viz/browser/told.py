"""What a component told last."""

from __future__ import annotations

from typing import Any

import streamlit as st


def told(key: str, name: str) -> Any:
    """What a component told last, from a browser and so from anyone.

    Streamlit forgets a component with its page, and still calls it back for what the browser sent
    from there.

    Args:
        key: of the mounted component.
        name: of a state or of a trigger.

    Returns:
        None where nothing was told, or where it is forgotten.
    """
    return (st.session_state.get(key) or {}).get(name)
