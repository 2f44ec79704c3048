// Plotly, packed: the page waits for it before its figures are drawn.
const unpack = (packed) => {
  const later = [];
  window.Plotly = { newPlot: (...figure) => later.push(figure) };
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  new Response(stream).text().then((code) => {
    delete window.Plotly;
    const script = document.createElement("script");
    script.textContent = code;
    document.head.append(script);
    later.forEach((figure) => window.Plotly.newPlot(...figure));
  });
};
