// The table of features: a click on a heading sorts by that column, and the field above it filters by name.
"use strict";
(() => {
    const table = document.getElementById("features");
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    const field = document.getElementById("filter");
    const count = document.getElementById("count");
    const headings = Array.from(table.tHead.rows[0].cells);
    const key = (row, column) => {
        const cell = row.cells[column];
        return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent;
    };
    const compare = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true }));

    headings.forEach((heading, column) => {
        heading.querySelector("button").addEventListener("click", () => {
            const now = heading.getAttribute("aria-sort");
            // The first click shows what one looks for: large numbers, but the best rank and the first names.
            const first = heading.dataset.first || "descending";
            const other = first === "ascending" ? "descending" : "ascending";
            const next = now === first ? other : first;
            headings.forEach((each) => each.removeAttribute("aria-sort"));
            heading.setAttribute("aria-sort", next);
            const sign = next === "ascending" ? 1 : -1;
            // Equal ones stay in the order of their ranks.
            rows.sort((a, b) => sign * compare(key(a, column), key(b, column)) || key(a, 0) - key(b, 0));
            body.append(...rows);
        });
    });

    field.addEventListener("input", () => {
        const wanted = field.value.toLowerCase();
        let shown = 0;
        for (const row of rows) {
            row.hidden = !row.cells[1].textContent.toLowerCase().includes(wanted);
            shown += row.hidden ? 0 : 1;
        }
        count.textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} shown`;
    });
})();
