"""Page configuration and navigation, nothing else."""

import streamlit as st

from app import login, sidebar
from app.views import (
    ablation,
    attention,
    benchmark,
    card,
    data,
    group_shuffles,
    initial_ranking,
    initial_rankings,
    invariance,
    jobs,
    library,
    outside,
    overview,
    perturbations,
    set_size,
    train,
    worst_case,
)

st.set_page_config(page_title="Shuffleproof", page_icon="🔀", layout="wide")
login.required()
sidebar.draw()

SECTIONS = {  # the pages by heading, as the sidebar shows them
    "Start": [
        st.Page(overview.page, title="Overview", default=True),
        st.Page(data.page, title="Data", url_path="data"),
        st.Page(train.page, title="Train", url_path="train"),
        st.Page(outside.page, title="From outside", url_path="outside"),
    ],
    "Studies": [
        st.Page(invariance.page, title="Invariance", url_path="invariance"),
        st.Page(group_shuffles.page, title="Group shuffles", url_path="group-shuffles"),
        st.Page(initial_ranking.page, title="Initial ranking", url_path="initial-ranking"),
        st.Page(set_size.page, title="Set size", url_path="set-size"),
        st.Page(initial_rankings.page, title="Several rankings", url_path="initial-rankings"),
        st.Page(attention.page, title="Attention", url_path="attention"),
        st.Page(perturbations.page, title="Perturbations", url_path="perturbations"),
        st.Page(worst_case.page, title="Worst case", url_path="worst-case"),
        st.Page(benchmark.page, title="Benchmark", url_path="benchmark"),
        st.Page(ablation.page, title="Ablation", url_path="ablation"),
        st.Page(card.page, title="Robustness card", url_path="card"),
    ],
    "Work": [
        st.Page(library.page, title="Library", url_path="library"),
        st.Page(jobs.page, title="Jobs", url_path="jobs"),
    ],
}
page = st.navigation(SECTIONS, position=sidebar.place())
sidebar.navigation(SECTIONS)
page.run()
