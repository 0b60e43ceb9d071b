// The map: a canvas that is moved and zoomed by mouse, touch and keyboard.

const UNIT = 32767;
const REACH = 14; // pixels from the pointer within which a vertex is found
const canvas = document.getElementById("canvas");
const brush = canvas.getContext("2d");
const baseSize = names.length < 500 ? 5 : names.length < 4000 ? 3.4 : 2.3;
const hidden = new Set();
const view = { x: 0, y: 0, scale: 0, whole: 1, width: 0, height: 0 };
const marked = { hovered: -1, chosen: -1 };
let colours = {};
let waiting = false;

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  colours = { surface: colour("surface"), text: colour("text"), accent: colour("accent") };
  colours.groups = packed.styles.map((name) => colour(`group-${name}`));
}

function resize() {
  const ratio = window.devicePixelRatio || 1;
  const first = view.scale === 0;
  const zoomed = view.scale / view.whole;
  view.width = canvas.clientWidth;
  view.height = canvas.clientHeight;
  canvas.width = Math.round(view.width * ratio);
  canvas.height = Math.round(view.height * ratio);
  brush.setTransform(ratio, 0, 0, ratio, 0, 0);
  view.whole = 0.47 * Math.min(view.width / reach(0), view.height / reach(1));
  if (first) showWhole();
  else view.scale = zoomed * view.whole;
  draw();
}

function reach(axis) {
  let most = 0.05;
  for (let i = axis; i < places.length; i += 2) most = Math.max(most, Math.abs(places[i]) / UNIT);
  return most;
}

function across(vertex) {
  return (places[2 * vertex] / UNIT - view.x) * view.scale + view.width / 2;
}

function down(vertex) {
  return (places[2 * vertex + 1] / UNIT - view.y) * view.scale + view.height / 2;
}

function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    draw();
  });
}

function draw() {
  const size = baseSize * Math.min(2.6, Math.sqrt(view.scale / view.whole));
  brush.fillStyle = colours.surface;
  brush.fillRect(0, 0, view.width, view.height);
  brush.globalAlpha = 0.8;
  // The last groups are grey; the coloured ones go on top of them.
  for (let group = packed.styles.length - 1; group >= 0; group--) drawGroup(group, size);
  brush.globalAlpha = 1;
  if (marked.chosen >= 0) drawTies(marked.chosen);
  for (const vertex of new Set([marked.chosen, marked.hovered])) if (vertex >= 0) drawMark(vertex, size);
}

function drawGroup(group, size) {
  if (hidden.has(group)) return;
  const corners = packed.shapes[group];
  brush.beginPath();
  for (let vertex = 0; vertex < names.length; vertex++) {
    if (groupOf[vertex] !== group) continue;
    const x = across(vertex);
    const y = down(vertex);
    if (x < -size || y < -size || x > view.width + size || y > view.height + size) continue;
    if (corners.length === 0) {
      brush.moveTo(x + size, y);
      brush.arc(x, y, size, 0, 2 * Math.PI);
    } else {
      corners.forEach(([a, b], i) => (i ? brush.lineTo(x + a * size, y + b * size) : brush.moveTo(x + a * size, y + b * size)));
      brush.closePath();
    }
  }
  brush.fillStyle = colours.groups[group];
  brush.fill();
}

function drawTies(vertex) {
  brush.beginPath();
  for (const other of neighboursOf(vertex)) {
    brush.moveTo(across(vertex), down(vertex));
    brush.lineTo(across(other), down(other));
  }
  brush.strokeStyle = colours.accent;
  brush.lineWidth = 1;
  brush.stroke();
}

function drawMark(vertex, size) {
  const x = across(vertex);
  const y = down(vertex);
  brush.beginPath();
  brush.arc(x, y, size + 4, 0, 2 * Math.PI);
  brush.strokeStyle = vertex === marked.chosen ? colours.accent : colours.text;
  brush.lineWidth = 2.5;
  brush.stroke();
  const name = names[vertex].length > 32 ? `${names[vertex].slice(0, 31)}…` : names[vertex];
  brush.font = "600 13px system-ui, sans-serif";
  const width = brush.measureText(name).width;
  const left = Math.max(4, Math.min(x + size + 9, view.width - width - 10));
  brush.fillStyle = colours.surface;
  brush.globalAlpha = 0.88;
  brush.fillRect(left - 4, y - 10, width + 8, 20);
  brush.globalAlpha = 1;
  brush.fillStyle = colours.text;
  brush.textBaseline = "middle";
  brush.fillText(name, left, y);
}

function neighboursOf(vertex) {
  return near.subarray(vertex * nearPerVertex, (vertex + 1) * nearPerVertex);
}

function vertexAt(x, y, within) {
  let best = -1;
  let least = within * within;
  for (let vertex = 0; vertex < names.length; vertex++) {
    const distance = (across(vertex) - x) ** 2 + (down(vertex) - y) ** 2;
    if (distance < least && !hidden.has(groupOf[vertex])) {
      best = vertex;
      least = distance;
    }
  }
  return best;
}

function showWhole() {
  Object.assign(view, { x: 0, y: 0, scale: view.whole });
  redraw();
}

function showVertex(vertex) {
  view.x = places[2 * vertex] / UNIT;
  view.y = places[2 * vertex + 1] / UNIT;
  view.scale = Math.max(view.scale, 4 * view.whole);
  redraw();
}

function moveBy(x, y) {
  view.x = Math.max(-1, Math.min(1, view.x - x / view.scale));
  view.y = Math.max(-1, Math.min(1, view.y - y / view.scale));
  redraw();
}

function zoomBy(factor, x = view.width / 2, y = view.height / 2) {
  const scale = Math.max(0.5 * view.whole, Math.min(400 * view.whole, view.scale * factor));
  // What lies under (x, y) stays there.
  const moved = 1 / view.scale - 1 / scale;
  view.x += (x - view.width / 2) * moved;
  view.y += (y - view.height / 2) * moved;
  view.scale = scale;
  redraw();
}
