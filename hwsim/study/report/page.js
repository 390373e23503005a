// Conveniences only: the page says everything without them.
const charts = JSON.parse(document.getElementById("charts").textContent);
const preference = window.matchMedia("(prefers-color-scheme: dark)");

async function draw() {
  for (const place of document.querySelectorAll("div.chart")) {
    const view = document.createElement("div");
    view.className = "view";
    const made = await vegaEmbed(view, charts[place.dataset.chart], {
      renderer: "svg", actions: false, defaultStyle: false, ast: true, theme: preference.matches ? "dark" : undefined,
      config: { background: "transparent" }, tooltip: { disableDefaultStyle: true, theme: "ours" },
    });
    place.made?.finalize();
    place.made = made;
    place.replaceChildren(view);
    place.classList.add("drawn");
  }
  document.documentElement.dataset.drawn = "yes";
}
// On paper a chart is light, as the page is: its picture is what prints.
for (const place of document.querySelectorAll("div.chart")) place.picture = place.querySelector("img");
draw();
preference.addEventListener("change", draw);
let asked = false;
window.addEventListener("beforeprint", () => {
  if (!preference.matches) return;
  asked = true;
  for (const place of document.querySelectorAll("div.chart")) place.replaceChildren(place.picture);
});
window.addEventListener("afterprint", () => { if (asked) draw(); asked = false; });

// The number that a cell begins with: 81.0 ± 0.4, (2 ± 3)e-4, 1,230, 12 dB, exact.
const numeric = (text) => {
  const plain = text.replace(/[,\s]/g, "").replace("−", "-").replace(/^exact$|∞/, "Infinity").replace(/^(-?)inf$/, "$1Infinity");
  const found = plain.match(/^\(?(-?(?:Infinity|\d+\.?\d*(?:e-?\d+)?))(?:±[\d.]+(?:e-?\d+)?\)?)?(e-?\d+)?(?:%|dB)?$/);
  return found ? Number(found[1] + (found[2] ?? "")) : NaN;
};
function compare(a, b) {
  const [x, y] = [numeric(a), numeric(b)];
  if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
  if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
  return a.localeCompare(b);
}
for (const table of document.querySelectorAll("table.sorted")) {
  const rows = [...table.tBodies[0].rows];
  if (rows.length < 2) continue;
  [...table.tHead.rows[0].cells].forEach((cell, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...cell.childNodes);
    cell.append(button);
    button.addEventListener("click", () => {
      const order = cell.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const sorted = [...rows].sort((a, b) => sign * compare(a.cells[at].textContent, b.cells[at].textContent));
      table.tBodies[0].append(...sorted);
    });
  });
}
