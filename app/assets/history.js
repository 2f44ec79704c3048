/* Back leads to the page before. What a page adds to its own address by itself (the study it
   shows, for links) is no place that anybody went to: it takes the entry of the page. The style
   knows the page by `data-page`, before anything of it is drawn. */
(() => {
  const name = () => { document.documentElement.dataset.page = location.pathname.split("/").pop(); };
  name();
  const push = history.pushState.bind(history);
  let chosen = false;
  for (const event of ["pointerdown", "keydown", "input"]) {
    addEventListener(event, () => { chosen = true; }, true);
  }
  addEventListener("popstate", () => { chosen = false; name(); }, true);
  history.pushState = (state, title, url) => {
    const to = new URL(url ?? location.href, location.href);
    const own = to.pathname === location.pathname && !chosen;
    if (own) history.replaceState(state, title, url);
    else push(state, title, url);
    chosen = false;
    name();
  };
})();
