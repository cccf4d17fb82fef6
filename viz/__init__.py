"""Everything a person sees: figures, labels, style, caching and pages."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The folder of app.py and of Streamlit's settings: the checkout, or the installed package."""
