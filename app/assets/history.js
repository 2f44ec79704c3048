/* Streamlit's page finds its scripts only from the root: a deeper address becomes its last part.
   Back leads to the previous page with one press: what changes within a page (a choice, the study
   that it shows) replaces the entry of the page in the browser's history. The style knows the page
   by `data-page`, before anything of it is drawn. */
(() => {
  const root = new URL(window.__streamlit.BACKEND_BASE_URL).pathname.replace(/\/$/, "");
  const parts = location.pathname.slice(root.length).split("/").filter(Boolean);
  if (parts.length > 1) location.replace(`${root}/${parts.pop()}${location.search}`);
  const name = () => { document.documentElement.dataset.page = location.pathname.split("/").pop(); };
  name();
  const push = history.pushState.bind(history);
  addEventListener("popstate", name, true);
  history.pushState = (state, title, url) => {
    const to = new URL(url ?? location.href, location.href);
    if (to.pathname === location.pathname) history.replaceState(state, title, url);
    else push(state, title, url);
    name();
  };
})();
