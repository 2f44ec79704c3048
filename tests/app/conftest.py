"""The stores that tests of pages open the dashboard over."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def scanned(components_scanned_once):
    """Every page test of this folder asks for it."""


@pytest.fixture(scope="session")
def fold():
    from tests import app_tables

    return app_tables.fold()


@pytest.fixture(scope="session")
def sample_server(tmp_path_factory):
    """The dashboard over what is shipped, for tests of a browser that store nothing."""
    from tests import browser

    with browser.served(tmp_path_factory.mktemp("sample")) as server:
        yield server


@pytest.fixture
def dashboard(monkeypatch):
    """Opens the pages over the store in a folder; no worker is started."""
    import streamlit as st

    from shuffleproof.core import jobs
    from shuffleproof.core.store.artefacts import Store

    def over(folder):
        monkeypatch.setenv("SHUFFLEPROOF_HOME", str(folder))
        monkeypatch.setattr(jobs, "start_waiting", lambda _store: True)
        for cached in (st.cache_resource, st.cache_data):
            cached.clear()
        return Store(folder)

    yield over
    st.cache_resource.clear()


@pytest.fixture
def dashboard_alone(dashboard, monkeypatch):
    """The same without the shipped sample."""

    def over(folder):
        store = dashboard(folder)
        for place in ("core.store.artefacts", "app.services"):
            monkeypatch.setattr(f"shuffleproof.{place}.default_store", lambda: store)
        return store

    return over


@pytest.fixture
def store(dashboard, tmp_path, fold):
    """A store with a made-up data set, which the pages show."""
    from tests import app_tables

    store = dashboard(tmp_path)
    app_tables.data_set(store, fold)
    return store
