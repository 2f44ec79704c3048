// Rows of the leaderboard that contain every typed word.
const field = document.getElementById("filter");
field.oninput = () => {
  const words = field.value.toLowerCase().split(/\s+/);
  document.querySelectorAll("tbody tr").forEach((row) => {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
  });
};
