
"use strict";
// Conveniences only: the page says everything without them.
for (const table of document.querySelectorAll("table.filtered")) {
  const rows = [...table.tBodies[0].rows];
  if (rows.length < 2) continue;
  const bar = document.createElement("form");
  bar.className = "filter";
  const search = document.createElement("input");
  search.type = "search";
  search.placeholder = "Unit, suite or driver";
  search.setAttribute("aria-label", "Show suites with these words");
  const only = document.createElement("input");
  only.type = "checkbox";
  const label = document.createElement("label");
  label.append(only, " failed only");
  const count = document.createElement("span");
  count.setAttribute("aria-live", "polite");
  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = (only.checked && row.className !== "bad") || !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    count.textContent = `${shown} of ${rows.length} suites`;
  };
  bar.append(search, ...(rows.some((row) => row.className === "bad") ? [label] : []), count);
  bar.addEventListener("input", apply);
  bar.addEventListener("submit", (event) => event.preventDefault());
  table.parentElement.before(bar);
  apply();
}
