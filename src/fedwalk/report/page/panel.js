// Next to the map: the vertex under the pointer, the search, the selected vertex, the legend.

const MAX_MATCHES = 12;
const lowered = names.map((name) => name.toLowerCase());
const search = document.getElementById("search");
const searchStatus = document.getElementById("search-status");
const matchList = document.getElementById("matches");

function show(id, text) {
  document.getElementById(id).textContent = text;
}

function point(vertex) {
  if (vertex === marked.hovered) return;
  marked.hovered = vertex;
  const facts = vertex >= 0 ? factsOf(vertex) : "";
  show("readout", vertex >= 0 ? `Vertex ${names[vertex]}${facts ? ` · ${facts}` : ""}` : "");
  redraw();
}

function choose(vertex) {
  marked.chosen = vertex;
  showVertex(vertex);
  marked.hovered = -1;
  point(vertex);
  show("chosen-name", `Vertex ${names[vertex]}`);
  show("chosen-facts", factsOf(vertex));
  const rows = Array.from(nearestOf(vertex), (other, i) => {
    const row = document.createElement("li");
    const cosine = document.createElement("span");
    cosine.className = "cosine";
    cosine.textContent = `cosine ${(cosines[vertex * nearPerVertex + i] / 100).toFixed(2)}`;
    row.append(vertexButton(other), cosine);
    return row;
  });
  document.getElementById("chosen-near").replaceChildren(...rows);
  document.getElementById("chosen").hidden = false;
}

function vertexButton(vertex) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = names[vertex];
  button.addEventListener("click", () => choose(vertex));
  return button;
}

// Exact matches first, then names that begin with the text, then names that contain it.
function matching(text) {
  const exact = [];
  const beginning = [];
  const containing = [];
  lowered.forEach((name, vertex) => {
    const at = name.indexOf(text);
    if (at === 0) (name === text ? exact : beginning).push(vertex);
    else if (at > 0) containing.push(vertex);
  });
  return [...exact, ...beginning, ...containing];
}

function updateMatches() {
  const text = search.value.trim().toLowerCase();
  const matches = text ? matching(text) : [];
  const rows = matches.slice(0, MAX_MATCHES).map((vertex) => {
    const row = document.createElement("li");
    row.append(vertexButton(vertex));
    return row;
  });
  matchList.replaceChildren(...rows);
  if (!text) searchStatus.textContent = "";
  else if (matches.length === 0) searchStatus.textContent = `No vertex on the map is called “${search.value.trim()}”.`;
  else if (matches.length === 1) searchStatus.textContent = "1 vertex. Press Enter to go there.";
  else searchStatus.textContent = `${matches.length.toLocaleString("en")} vertices. Press Enter to go to the first.`;
  return matches;
}

search.addEventListener("input", updateMatches);
document.getElementById("find").addEventListener("submit", (event) => {
  event.preventDefault();
  const [first] = updateMatches();
  if (first !== undefined) choose(first);
});

for (const key of document.querySelectorAll(".key")) {
  key.addEventListener("click", () => {
    const group = Number(key.dataset.group);
    if (!hidden.delete(group)) hidden.add(group);
    key.setAttribute("aria-pressed", String(!hidden.has(group)));
    redraw();
  });
}
