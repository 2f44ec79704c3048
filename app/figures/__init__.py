"""Figures: frames in, Plotly figures out; no streamlit, no torch, no core."""
