// The shuffle of a published site: recorded orders, one after the other.
const queries = JSON.parse(document.getElementById("recorded").textContent);
const parent = document.getElementById("shuffle").attachShadow({ mode: "open" });
parent.append(document.getElementById("cards").content);
const verdict = document.getElementById("verdict");
const choices = document.getElementById("choices");
let query = 0;
let order = 0;

const show = () => {
  const recorded = queries[query];
  const data = { documents: recorded[0].documents, ...recorded[order], editable: false, fixed: true };
  const setTriggerValue = (name) => name === "shuffle" && shuffle();
  mount({ data, parentElement: parent, setTriggerValue });
  verdict.textContent = order ? data.verdict : "Press Shuffle: whose ranking changes?";
};

const shuffle = () => {
  order = (order % (queries[query].length - 1)) + 1;
  show();
};

const button = (text, press) => {
  const made = document.createElement("button");
  made.textContent = text;
  made.onclick = press;
  choices.append(made, " ");
};

button("Shuffle", shuffle);
button("Reset", () => {
  order = 0;
  show();
});
if (queries.length > 1) {
  queries.forEach((recorded, at) => {
    button(`Query ${recorded[0].query}`, () => {
      query = at;
      order = 0;
      show();
    });
  });
}
show();
