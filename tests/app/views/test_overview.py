"""The Overview: what it is, the shuffle on the sample's rankers, recent work; empty and failing."""

from streamlit.testing.v1 import AppTest

from shuffleproof.app import services
from shuffleproof.app.plain import JOINER, escaped
from shuffleproof.app.study import sample_result
from shuffleproof.app.views import overview
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.result import StudyResult


def script():
    import streamlit as st

    from shuffleproof.app.navigation import PAGES

    st.navigation([st.Page(PAGES[""].draw, url_path="overview", default=True)]).run()


def opened(root, monkeypatch):
    monkeypatch.setattr(services, "store", lambda: Store(root))  # without the shipped sample
    return AppTest.from_function(script, default_timeout=60).run()


def plain(page):
    assert not page.exception
    return " ".join(one.value for one in page.markdown).replace("\\", "")


def test_shuffling_moves_one_ranker_and_not_the_other(trained_sample, monkeypatch):
    page = opened(trained_sample[0].root, monkeypatch)
    assert " moves " not in plain(page), "nothing has been shuffled"
    page.button[0].click().run()
    first = plain(page)
    assert "DLCM loses" in first
    assert "SetRank IMSAB + init loses nothing and moves none" in first
    page.button[0].click().run()
    told = " ".join(one.value for one in page.caption).replace("\\", "")
    assert "shuffled with seed 2" in told
    assert "Stars: relevance labels" in told
    worst, reset = page.button[1:3]
    worst.click().run()
    assert "loses 100 % of its" in plain(page)
    reset.click().run()
    assert page.query_params["order"] == "initial"


def test_the_shipped_studies_are_shown_with_their_answers_and_lead_to_their_pages():
    page = AppTest.from_function(script, default_timeout=60).run()
    told = " ".join(one.value for one in page.markdown)
    charts = page.get("plotly_chart")
    assert len(charts) == len(overview.SHOWN)
    for kind in overview.SHOWN:
        artefact = sample_result.shipped_study(kind)
        assert escaped(sample_result.headline(StudyResult.open(artefact.path)).text) in told


def test_recent_work_says_what_where_and_how_good_and_leads_there(trained_root, monkeypatch):
    page = opened(trained_root, monkeypatch)
    links = {one.proto.label: one.proto for one in page.get("page_link")}
    assert links["DLCM trained on sample"].page == "train"
    assert links["DLCM trained on sample"].query_string == "tab=train&use=sample"
    assert links["Invariance on sample"].page == "query-lab"
    told = " ".join(one.value for one in page.caption).replace("\\", "").replace(JOINER, "")
    assert "SetRank IMSAB + init is invariant." in told
    assert "validation NDCG@10 0." in told


def test_a_data_set_that_is_not_there_is_said_on_every_page(tmp_path, monkeypatch):
    def with_sidebar():
        import streamlit as st

        from shuffleproof.app import sidebar

        sidebar.draw()
        st.navigation([st.Page(lambda: None, title="Any")]).run()

    monkeypatch.setattr(services, "store", lambda: Store(tmp_path))
    page = AppTest.from_function(with_sidebar, default_timeout=60)
    page.query_params["data"] = "gone"
    assert "data set gone" in page.run().warning[0].value
    assert "Shown instead: sample" in page.warning[0].value
