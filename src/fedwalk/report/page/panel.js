// Beside the map: what is pointed at, the search, the chosen vertex, the legend.

const MOST_MATCHES = 12;
const lowered = names.map((name) => name.toLowerCase());
const search = document.getElementById("search");
const found = document.getElementById("found");
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
  const rows = Array.from(neighboursOf(vertex), (other, i) => {
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

function matching(text) {
  const exact = [];
  const beginning = [];
  const holding = [];
  lowered.forEach((name, vertex) => {
    const at = name.indexOf(text);
    if (at === 0) (name === text ? exact : beginning).push(vertex);
    else if (at > 0) holding.push(vertex);
  });
  return [...exact, ...beginning, ...holding];
}

function look() {
  const text = search.value.trim().toLowerCase();
  const matches = text ? matching(text) : [];
  const rows = matches.slice(0, MOST_MATCHES).map((vertex) => {
    const row = document.createElement("li");
    row.append(vertexButton(vertex));
    return row;
  });
  matchList.replaceChildren(...rows);
  if (!text) found.textContent = "";
  else if (matches.length === 0) found.textContent = `No vertex on the map is called “${search.value.trim()}”.`;
  else if (matches.length === 1) found.textContent = "1 vertex. Enter goes there.";
  else found.textContent = `${matches.length.toLocaleString("en")} vertices. Enter goes to the first.`;
  return matches;
}

search.addEventListener("input", look);
document.getElementById("find").addEventListener("submit", (event) => {
  event.preventDefault();
  const [first] = look();
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
