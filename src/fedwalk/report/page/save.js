// Tables and vectors as CSV files, made in the browser: nothing is loaded or sent.

// A cell as RFC 4180 has it: in quotes if it contains a comma, a quote or a line break.
function csvCell(text) {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csvLine(cells) {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function saveFile(name, lines) {
  const address = URL.createObjectURL(new Blob(lines, { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000); // the browser may still be reading it
}

function tableLines(table) {
  return Array.from(table.rows, (row) => csvLine(Array.from(row.cells, (cell) => cell.textContent)));
}

// Nine digits identify a 32-bit number; toPrecision alone would add zeros.
function digits(value) {
  return String(Number(value.toPrecision(9)));
}

function vectorLines() {
  const vectors = unpack(packed.vectors, Float32Array);
  const dim = packed.dim;
  const lines = [csvLine(["vertex", ...Array.from({ length: dim }, (_, i) => `x${i}`)])];
  names.forEach((name, vertex) => {
    lines.push(csvLine([name, ...Array.from(vectors.subarray(vertex * dim, (vertex + 1) * dim), digits)]));
  });
  for (const name of packed.zeros) lines.push(csvLine([name, ...Array(dim).fill("0")]));
  return lines;
}

for (const button of document.querySelectorAll(".save")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    if (button.id === "save-vectors") saveFile("vectors.csv", vectorLines());
    else saveFile(`${button.dataset.name}.csv`, tableLines(button.closest("details").querySelector("table")));
  });
}
