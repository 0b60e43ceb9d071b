"use strict";
// The vertices, unpacked from the page's data block.

const packed = JSON.parse(document.getElementById("data").textContent);

function unpack(text, Kind) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Kind(bytes.buffer);
}

const names = packed.names;
const places = unpack(packed.places, Int16Array);
const groupOf = unpack(packed.group, Uint8Array);
const near = unpack(packed.near, Uint16Array);
const cosines = unpack(packed.cosines, Int8Array);
const nearPerVertex = near.length / names.length;

function labelsOf(vertex) {
  return packed.carried.length ? packed.carried[vertex].map((label) => packed.labels[label]) : [];
}

function factsOf(vertex) {
  const labels = labelsOf(vertex);
  const facts = [];
  if (labels.length > 8) facts.push(`labels ${labels.slice(0, 8).join(", ")} and ${labels.length - 8} more`);
  else if (labels.length) facts.push(`${labels.length > 1 ? "labels" : "label"} ${labels.join(", ")}`);
  else if (packed.labels.length) facts.push("no label");
  if (packed.degrees.length) facts.push(`degree ${packed.degrees[vertex].toLocaleString("en")}`);
  return facts.join(" · ");
}
