"""What Streamlit's theme does not say of how pages look."""

LOOKS = """<style>
.stMainBlockContainer { padding-top: 3.5rem; }
.st-key-of_the_sample { opacity: .6; filter: grayscale(.7); }
</style>"""
"""Less empty space above the title; results of the sample greyed beside one's own data."""
