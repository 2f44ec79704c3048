// Slides of one file: arrow keys, Page Up and Page Down go through them; the hash holds the place.
const slides = [...document.querySelectorAll(".slide")];
let at = Math.min(Number(location.hash.slice(1)) || 0, slides.length - 1);

const show = () => {
  slides.forEach((slide, place) => { slide.hidden = place !== at; });
  history.replaceState(null, "", `#${at}`);
  dispatchEvent(new Event("resize")); // figures of hidden slides have no size
};

addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 }[event.key];
  if (!step || event.altKey) return;
  at = (at + step + slides.length) % slides.length;
  show();
});
show();
