"""Figures: frames in, Plotly figures out; no streamlit, no torch, of core the words."""
