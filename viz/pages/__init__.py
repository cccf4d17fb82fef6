"""The scripts that Streamlit runs, one or more for each page."""
