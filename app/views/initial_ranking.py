"""The page of Figure 3: a worse initial ranking, and who follows it down."""

import streamlit as st

from app import services
from app.figures.initial_ranking import alt_text, curves

QUESTION = "If the initial ranking gets worse, how fast does each ranker follow?"


def page() -> None:
    """Draw the newest stored study of the sample set: picture, finding, then details."""
    st.title("Initial ranking")
    st.markdown(QUESTION)
    stored = services.studies("initial-ranking", "sample")
    if not stored:
        st.info(
            "No study of the sample set is stored here. Make one with "
            "`shuffleproof study initial-ranking --rankers "
            "lambdamart,dlcm,setrank-imsab,setrank-imsab-init`."
        )
        return
    study = services.figure3(str(stored[0].key))
    pairs = list(study.claims)
    family, measure = pairs[0]
    if len(pairs) > 1:
        family, measure = st.selectbox("Curve", pairs, format_func=" · ".join)
    figure = curves(study.summary, family, measure, study.unit(family))
    st.plotly_chart(figure, key="curves", config={"displaylogo": False})
    st.caption(alt_text(study.summary, family, measure))
    st.markdown(f"**{study.finding(family, measure)}**")
    claim = study.claims[family, measure]
    if claim:
        st.markdown(
            f"The paper's claim that {claim['claim']}: **{claim['verdict']}** here "
            f"(difference {claim['difference']:+.3f}, p = {claim['p']:.3g}, n = {claim['n']})."
        )
    with st.expander("Every number"):
        st.dataframe(study.summary, hide_index=True)
    st.caption(f"{measure} · {study.facts['queries']} queries · stored as {study.key}")
