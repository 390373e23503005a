// Conveniences only: the page says everything without them.
const { charts, dark } = JSON.parse(document.getElementById("charts").textContent);
const preference = window.matchMedia("(prefers-color-scheme: dark)");
const settings = {
  mode: "vega-lite", renderer: "svg", actions: false, defaultStyle: false, ast: true,
  tooltip: { disableDefaultStyle: true, theme: "ours" },
};

function coloured(value) {
  if (typeof value === "string") return preference.matches && Object.hasOwn(dark, value) ? dark[value] : value;
  if (Array.isArray(value)) return value.map(coloured);
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, coloured(one)]));
  }
  return value;
}

async function draw() {
  for (const place of document.querySelectorAll("div.chart")) {
    const view = document.createElement("div");
    view.className = "view";
    const made = await vegaEmbed(view, coloured(charts[place.dataset.chart]), settings);
    place.made?.finalize();
    place.made = made;
    place.replaceChildren(view);
    place.classList.add("drawn");
  }
  document.documentElement.dataset.drawn = "yes";
}
draw();
preference.addEventListener("change", draw);
// On paper a chart is light, as the page is: its picture is what prints.
for (const place of document.querySelectorAll("div.chart")) place.picture = place.querySelector("img");
let asked = false;
window.addEventListener("beforeprint", () => {
  if (!preference.matches) return;
  asked = true;
  for (const place of document.querySelectorAll("div.chart")) place.replaceChildren(place.picture);
});
window.addEventListener("afterprint", () => { if (asked) draw(); asked = false; });

const numeric = (text) => {
  const plain = text.replace(/[,\s]/g, "").replace("−", "-").replace("∞", "Infinity").replace(/^(-?)inf$/, "$1Infinity");
  return plain === "" || plain === "nan" ? NaN : Number(plain.replace(/(%|dB)$/, ""));
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
