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

// The layout whose width is nearest to the card's: it is scaled to fill it.
function chosen(place) {
  const widths = Object.keys(charts[place.dataset.chart].views).map(Number).sort((a, b) => a - b);
  return widths.filter((one) => one <= place.clientWidth * 1.12).at(-1) ?? widths[0];
}

async function drawOne(place) {
  const { data, views } = charts[place.dataset.chart];
  const width = chosen(place);
  const view = document.createElement("div");
  view.className = "view";
  const made = await vegaEmbed(view, coloured({ ...views[width], datasets: data }), settings);
  const picture = view.querySelector("svg");
  // Of a chart that is wider than its layout (a heatmap of many columns), letters stay legible: it is scrolled.
  picture.style.minWidth = `${Math.round(picture.viewBox.baseVal.width * 0.72)}px`;
  place.made?.finalize();
  place.made = made;
  place.width = width;
  place.replaceChildren(view);
  place.classList.add("drawn");
}

async function draw() {
  for (const place of document.querySelectorAll("div.chart")) await drawOne(place);
  document.documentElement.dataset.drawn = "yes";
}
draw();
preference.addEventListener("change", draw);
const resized = new ResizeObserver((changes) => {
  // Not before it has returned: what it draws has another size.
  for (const { target } of changes) {
    if (target.width && target.width !== chosen(target)) requestAnimationFrame(() => drawOne(target));
  }
});
for (const place of document.querySelectorAll("div.chart")) resized.observe(place);
// On paper a chart is light, as the page is: its picture is what prints.
for (const place of document.querySelectorAll("div.chart")) place.picture = place.querySelector("img");
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
