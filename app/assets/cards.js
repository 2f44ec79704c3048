// A list as cards that move: how it is shown, and where each ranker puts its documents.
// The first column is arranged by hand: pointer, or Alt and the arrow keys on a card.

const ROW = 30;
const SVG = "http://www.w3.org/2000/svg";
const PAUSE = 900;
const FIXED_HINT = "Arcs: where the marked document attends. Point at another card to mark it.";
const HINT = "Drag a card, or press Alt with ↑ or ↓. Arcs: where the marked document attends.";
const EXPLAINED = " Click a card of a ranker: why it is there.";
const SHUFFLES = 20;

const make = (tag, parent, classes = "", text = "") => {
  const element = document.createElement(tag);
  element.className = classes;
  element.textContent = text;
  parent.append(element);
  return element;
};

const grade = (label) => (label > 0 ? `★${label}` : "·");

const called = (documents, row) => {
  const { title, snippet, url, unusual } = documents;
  const texts = [title, snippet, url, unusual].map((own) => own?.[row]);
  const head = `${documents.ids[row]}, grade ${documents.labels[row]}`;
  return [head, ...texts.filter(Boolean)].join("\n");
};

// Text as the text it is; a link where the address is one of http or https.
const write = (place, text, url) => {
  place.replaceChildren();
  if (!/^https?:\/\//.test(url || "")) return place.append(text);
  const link = make("a", place, "", text);
  Object.assign(link, { href: url, target: "_blank", rel: "noopener noreferrer" });
};

const arrow = (from, to) => {
  if (from == null) return "new";
  if (from === to || to == null) return "";
  return from > to ? `▲${from - to}` : `▼${to - from}`;
};

const svgElement = (tag, parent, attributes = {}) => {
  const element = document.createElementNS(SVG, tag);
  Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
  parent.append(element);
  return element;
};

// ------------------------------------------------------------------ one column of cards

class Column {
  constructor(parent, links = false) {
    this.links = links;
    this.section = make("section", parent, "column");
    this.head = make("h3", this.section);
    this.note = make("p", this.section, "note");
    this.scroll = make("div", this.section, "scroll");
    this.list = make("ul", this.scroll);
    this.cards = [];
    this.arcs = svgElement("svg", this.list, { class: "arcs", "aria-hidden": "true" });
  }

  fill(count) {
    while (this.cards.length > count) this.cards.pop().remove();
    while (this.cards.length < count) {
      const card = make("li", this.list);
      for (const part of ["place", "grade", "name", "arrow"]) make("span", card, part);
      make("bdi", card.children[2]);
      this.cards.push(card);
    }
    this.list.style.height = `${count * ROW}px`;
  }

  put(row, place) {
    this.cards[row].hidden = place == null; // it was removed from the list
    if (place == null) return;
    this.cards[row].style.transform = `translateY(${place * ROW}px)`;
    this.cards[row].children[0].dataset.text = place + 1;
  }

  // Arcs from one document to those that it attends to; the width is the weight.
  attend(ranker, row, largest) {
    const there = ([other]) => ranker.answered[row] != null && ranker.answered[other] != null;
    const pairs = (ranker.attended[row] ?? []).filter(there);
    const y = (document_) => ranker.answered[document_] * ROW + 13;
    while (this.arcs.children.length < pairs.length) svgElement("path", this.arcs);
    [...this.arcs.children].forEach((path, at) => {
      path.style.opacity = at < pairs.length ? 0.75 : 0;
      if (at >= pairs.length) return;
      const [other, weight] = pairs[at];
      const bulge = 8 + 32 * Math.min(1, Math.abs(y(row) - y(other)) / 390);
      const curve = `M0 ${y(row)} C${bulge} ${y(row)} ${bulge} ${y(other)} 0 ${y(other)}`;
      path.setAttribute("d", curve);
      path.style.d = `path("${curve}")`; // moves with the cards
      path.style.strokeWidth = Math.max(1.2, (6 * weight) / largest);
    });
    this.cards.forEach((card, other) => {
      card.classList.toggle("attending", other === row);
      card.classList.toggle("attended", pairs.some(([document_]) => document_ === other));
    });
  }

  write(row, documents, moved, change) {
    const card = this.cards[row];
    const [, stars, name, far] = card.children;
    stars.dataset.text = grade(documents.labels[row]);
    const title = documents.title?.[row];
    name.classList.toggle("titled", Boolean(title));
    write(name.firstChild, title || documents.ids[row], this.links && documents.url?.[row]);
    far.dataset.text = change;
    card.classList.toggle("relevant", documents.labels[row] > 0);
    card.classList.toggle("moved", moved);
    card.title = called(documents, row);
  }
}

// ------------------------------------------------------------------ the column of the order shown

class Hand {
  constructor(column, changed, edited) {
    this.column = column;
    this.changed = changed;
    this.edited = edited;
    this.order = [];
    this.focused = 0;
    const list = column.list;
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "Documents as they are shown. Alt and an arrow key move one.");
    list.addEventListener("pointerdown", (event) => this.take(event));
    list.addEventListener("keydown", (event) => this.press(event));
  }

  show(order, documents, editable, fixed = false) {
    this.fixed = fixed; // a recorded list: no other order can be answered
    this.order = [...order];
    this.documents = documents;
    this.editable = editable;
    this.column.cards.forEach((card) => {
      if (!editable || card.querySelector(".edit")) return;
      // For the pointer; the keys are Delete and D.
      const edits = make("span", card, "edit");
      for (const [what, sign] of [["copied", "+"], ["removed", "×"]]) {
        const edit = make("span", edits);
        Object.assign(edit.dataset, { what, text: sign });
        edit.title = what === "copied" ? "Duplicate (D)" : "Remove (Delete)";
      }
      edits.ariaHidden = "true";
    });
    this.place();
  }

  place(except = -1) {
    this.column.cards.forEach((card, row) => { card.hidden = !this.order.includes(row); });
    this.order.forEach((row, place) => {
      const card = this.column.cards[row];
      const title = this.documents.title?.[row];
      const what = `${title || this.documents.ids[row]}, grade ${this.documents.labels[row]}`;
      card.setAttribute("role", "option");
      card.setAttribute("aria-selected", String(row === this.focused));
      card.setAttribute("aria-label", `${what}, place ${place + 1} of ${this.order.length}`);
      card.tabIndex = row === this.focused ? 0 : -1;
      if (row !== except) this.column.put(row, place);
      else card.children[0].dataset.text = place + 1;
    });
    if (!this.order.includes(this.focused)) {
      this.focused = this.order[0];
      this.column.cards[this.focused].tabIndex = 0;
    }
  }

  move(row, to) {
    const rest = this.order.filter((other) => other !== row);
    rest.splice(Math.max(0, Math.min(rest.length, to)), 0, row);
    this.order = rest;
  }

  take(event) {
    const card = event.target.closest("li");
    if (!card || event.button || this.fixed) return;
    const what = event.target.dataset.what;
    if (what) return this.edited([what, this.column.cards.indexOf(card)]);
    if (event.pointerType === "touch" && !event.target.closest(".place")) return; // it scrolls
    event.preventDefault();
    const row = this.column.cards.indexOf(card);
    const before = this.order.join();
    const grip = event.clientY - this.order.indexOf(row) * ROW + this.column.scroll.scrollTop;
    this.focused = row;
    this.place();
    card.focus({ preventScroll: true });
    card.classList.add("held");
    card.setPointerCapture(event.pointerId);
    const drag = (moved) => {
      const top = moved.clientY - grip + this.column.scroll.scrollTop;
      card.style.transform = `translateY(${top}px)`;
      this.move(row, Math.round(top / ROW));
      this.place(row);
    };
    const drop = () => {
      card.classList.remove("held");
      card.removeEventListener("pointermove", drag);
      this.place();
      if (this.order.join() !== before) this.changed(this.order);
    };
    card.addEventListener("pointermove", drag);
    card.addEventListener("lostpointercapture", drop, { once: true });
  }

  press(event) {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const card = event.target.closest("li");
    const what = { Delete: "removed", d: "copied" }[event.key];
    if (card && what && this.editable) this.edited([what, this.column.cards.indexOf(card)]);
    if (!step || !card) return;
    this.focused = this.column.cards.indexOf(card);
    event.preventDefault();
    event.stopPropagation();
    const at = this.order.indexOf(this.focused);
    const to = at + step;
    if (to < 0 || to >= this.order.length) return;
    if (event.altKey && this.fixed) return;
    if (event.altKey) this.move(this.focused, to);
    else this.focused = this.order[to];
    this.place();
    this.column.cards[this.focused].focus();
    if (event.altKey) this.changed(this.order);
  }
}

// ------------------------------------------------------------------ lines from order to answers

const line = (svg, points, classes, color) => {
  const drawn = svgElement("polyline", svg, {
    points: points.map((point) => point.join()).join(" "),
    class: classes,
  });
  drawn.style.setProperty("--own", color);
  return drawn;
};

const lines = (parent, documents, shown, ranker) => {
  const count = shown.length;
  const step = Math.min(12, 400 / count);
  const section = make("section", parent, "column");
  make("h3", section, "", ranker.name);
  make("p", section, "note", ranker.note);
  const viewBox = `0 0 340 ${count * step + 24}`;
  const svg = svgElement("svg", section, { viewBox, role: "img", "aria-label": ranker.words });
  ["shown", "answer", "answer before"].forEach((head, at) => {
    const place = { x: 30 + at * 130, y: 12, "text-anchor": "middle" };
    svgElement("text", svg, place).textContent = head;
  });
  const y = (place) => 24 + (place + 0.5) * step;
  const places = new Map(shown.map((row, place) => [row, place]));
  documents.ids.forEach((id, row) => {
    const now = ranker.answered[row];
    if (now == null || ranker.before[row] == null) return;
    const path = [[30, y(places.get(row))], [160, y(now)], [290, y(ranker.before[row])]];
    const drawn = line(svg, path, ranker.moved[row] ? "moved" : "stayed", ranker.color);
    if (documents.labels[row] > 0) drawn.classList.add("relevant");
    const name = documents.title?.[row] || id;
    const grades = `${name}, grade ${documents.labels[row]}`;
    svgElement("title", drawn).textContent =
      `${grades}: shown at ${places.get(row) + 1}, answered at ${now + 1}`;
  });
};

// ------------------------------------------------------------------ the whole

const attend = (state) => {
  const weights = state.drawnRankers.flatMap((ranker) => ranker.attended.flat());
  const largest = Math.max(...weights.map(([, weight]) => weight));
  state.rankers.forEach((column, at) => {
    column.attend(state.drawnRankers[at], state.attending, largest);
  });
};

const build = (root, ask) => {
  const bar = make("div", root, "bar");
  const play = make("button", bar, "", `Play ${SHUFFLES} shuffles`);
  const view = make("button", bar, "", "Show lines");
  const hint = make("span", bar, "hint", HINT);
  const spoken = make("p", root, "spoken");
  spoken.setAttribute("aria-live", "polite");
  const body = make("div", root, "columns");
  const graphs = make("div", root, "graphs");
  graphs.hidden = true;
  const shown = new Column(body);
  shown.head.textContent = "Shown";
  const state = { body, graphs, hint, spoken, shown, rankers: [], left: 0, timer: 0, attending: null };
  const over = (event) => {
    const card = event.target.closest?.("li");
    if (!card || card.classList.contains("held")) return;
    state.attending = [...card.parentElement.querySelectorAll("li")].indexOf(card);
    attend(state);
  };
  body.addEventListener("pointerover", over);
  body.addEventListener("focusin", over);
  body.addEventListener("click", (event) => {
    const card = event.target.closest("li");
    if (!card || !card.closest(".explains") || event.target.closest("a")) return;
    ask("explain", [...card.parentElement.querySelectorAll("li")].indexOf(card));
  });
  state.hand = new Hand(
    shown, (order) => ask("order", order), (edit) => ask("change", edit),
  );
  const stop = () => {
    state.left = 0;
    clearTimeout(state.timer);
    play.textContent = `Play ${SHUFFLES} shuffles`;
    play.setAttribute("aria-pressed", "false");
  };
  state.next = () => {
    if (!state.left) return;
    state.left -= 1;
    play.textContent = `Stop (${state.left} left)`;
    state.timer = setTimeout(() => (state.left ? ask("shuffle", state.left) : stop()), PAUSE);
  };
  play.onclick = () => {
    if (state.left) return stop();
    state.left = SHUFFLES + 1;
    play.setAttribute("aria-pressed", "true");
    play.textContent = `Stop (${SHUFFLES} left)`;
    state.left -= 1;
    ask("shuffle", state.left);
  };
  // Whoever presses something else wants to see that.
  document.addEventListener("pointerdown", (event) => {
    if (state.left && !event.composedPath().includes(root)) stop();
  });
  view.onclick = () => {
    graphs.hidden = !graphs.hidden;
    body.hidden = hint.hidden = !graphs.hidden;
    view.textContent = graphs.hidden ? "Show lines" : "Show cards";
  };
  state.stop = stop;
  return state;
};

const draw = (state, data) => {
  const { documents, shown, rankers } = data;
  const count = documents.ids.length;
  const places = new Map(shown.map((row, place) => [row, place]));
  state.shown.fill(count);
  state.shown.note.textContent = data.words;
  const earlier = new Map(data.before.map((row, place) => [row, place]));
  documents.ids.forEach((_, row) => {
    state.shown.write(row, documents, false, arrow(earlier.get(row), places.get(row)));
  });
  state.hand.show(shown, documents, data.editable, data.fixed);
  state.hint.textContent = (data.fixed ? FIXED_HINT : HINT) + (data.explains ? EXPLAINED : "");
  while (state.rankers.length > rankers.length) state.rankers.pop().section.remove();
  while (state.rankers.length < rankers.length) state.rankers.push(new Column(state.body, true));
  state.graphs.replaceChildren();
  rankers.forEach((ranker, at) => {
    const column = state.rankers[at];
    column.fill(count);
    column.section.classList.toggle("attends", ranker.attended.length > 0);
    column.section.classList.toggle("explains", Boolean(data.explains));
    column.head.textContent = ranker.name;
    column.note.textContent = ranker.note;
    column.section.style.setProperty("--own", ranker.color);
    column.scroll.tabIndex = 0;
    column.scroll.setAttribute("role", "region");
    column.scroll.setAttribute("aria-label", ranker.words);
    documents.ids.forEach((_, row) => {
      const change = arrow(ranker.before[row], ranker.answered[row]);
      const told = ranker.moved[row] || change === "new";
      column.write(row, documents, ranker.moved[row], told ? change : "");
      column.put(row, ranker.answered[row]);
    });
    lines(state.graphs, documents, shown, ranker);
  });
  state.drawnRankers = rankers;
  if (state.query !== data.query) {
    const best = Math.max(...documents.labels);
    state.attending = shown.find((row) => documents.labels[row] === best);
  }
  state.query = data.query;
  attend(state);
  state.spoken.textContent = data.verdict;
};

const states = new WeakMap();

export default function mount(component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".cards");
  if (!states.has(root)) states.set(root, build(root, (name, value) => root.ask(name, value)));
  root.ask = setTriggerValue;
  const state = states.get(root);
  const drawn = JSON.stringify([data.query, data.shown]);
  draw(state, data);
  if (state.left && state.drawn !== drawn) state.next();
  state.drawn = drawn;
  return () => {
    if (!root.isConnected) state.stop();
  };
}
