// The map: a canvas that is moved and zoomed by mouse, touch and keyboard.

const UNIT = 32767; // coordinates are 16-bit integers from -UNIT to UNIT
const REACH = 14; // how far from the pointer, in pixels, a vertex can be selected
const canvas = document.getElementById("canvas");
const context = canvas.getContext("2d");
const baseSize = names.length < 500 ? 5 : names.length < 4000 ? 3.4 : 2.3;
const hidden = new Set();
const view = { x: 0, y: 0, scale: 0, whole: 1, width: 0, height: 0 };
const marked = { hovered: -1, chosen: -1 };
let colours = {};
let frameRequested = false;

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
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  view.whole = 0.47 * Math.min(view.width / reach(0), view.height / reach(1));
  if (first) showWhole();
  else view.scale = zoomed * view.whole;
  draw();
}

// The largest absolute coordinate on an axis; the lower bound avoids a division by zero.
function reach(axis) {
  let largest = 0.05;
  for (let i = axis; i < places.length; i += 2) largest = Math.max(largest, Math.abs(places[i]) / UNIT);
  return largest;
}

// The position of a vertex on the canvas, in pixels.
function across(vertex) {
  return (places[2 * vertex] / UNIT - view.x) * view.scale + view.width / 2;
}

function down(vertex) {
  return (places[2 * vertex + 1] / UNIT - view.y) * view.scale + view.height / 2;
}

// Draws at most once per frame, however many events ask for it.
function redraw() {
  if (frameRequested) return;
  frameRequested = true;
  requestAnimationFrame(() => {
    frameRequested = false;
    draw();
  });
}

function draw() {
  const size = baseSize * Math.min(2.6, Math.sqrt(view.scale / view.whole));
  context.fillStyle = colours.surface;
  context.fillRect(0, 0, view.width, view.height);
  context.globalAlpha = 0.8;
  // The last groups are grey; coloured ones are drawn over them.
  for (let group = packed.styles.length - 1; group >= 0; group--) drawGroup(group, size);
  context.globalAlpha = 1;
  if (marked.chosen >= 0) drawNearestLines(marked.chosen);
  for (const vertex of new Set([marked.chosen, marked.hovered])) if (vertex >= 0) drawMark(vertex, size);
}

function drawGroup(group, size) {
  if (hidden.has(group)) return;
  const corners = packed.shapes[group];
  context.beginPath();
  for (let vertex = 0; vertex < names.length; vertex++) {
    if (groupOf[vertex] !== group) continue;
    const x = across(vertex);
    const y = down(vertex);
    if (x < -size || y < -size || x > view.width + size || y > view.height + size) continue;
    if (corners.length === 0) {
      context.moveTo(x + size, y);
      context.arc(x, y, size, 0, 2 * Math.PI);
    } else {
      corners.forEach(([a, b], i) => (i ? context.lineTo(x + a * size, y + b * size) : context.moveTo(x + a * size, y + b * size)));
      context.closePath();
    }
  }
  context.fillStyle = colours.groups[group];
  context.fill();
}

function drawNearestLines(vertex) {
  context.beginPath();
  for (const other of nearestOf(vertex)) {
    context.moveTo(across(vertex), down(vertex));
    context.lineTo(across(other), down(other));
  }
  context.strokeStyle = colours.accent;
  context.lineWidth = 1;
  context.stroke();
}

function drawMark(vertex, size) {
  const x = across(vertex);
  const y = down(vertex);
  context.beginPath();
  context.arc(x, y, size + 4, 0, 2 * Math.PI);
  context.strokeStyle = vertex === marked.chosen ? colours.accent : colours.text;
  context.lineWidth = 2.5;
  context.stroke();
  const name = names[vertex].length > 32 ? `${names[vertex].slice(0, 31)}…` : names[vertex];
  context.font = "600 13px system-ui, sans-serif";
  const width = context.measureText(name).width;
  const left = Math.max(4, Math.min(x + size + 9, view.width - width - 10));
  context.fillStyle = colours.surface;
  context.globalAlpha = 0.88;
  context.fillRect(left - 4, y - 10, width + 8, 20);
  context.globalAlpha = 1;
  context.fillStyle = colours.text;
  context.textBaseline = "middle";
  context.fillText(name, left, y);
}

function nearestOf(vertex) {
  return near.subarray(vertex * nearPerVertex, (vertex + 1) * nearPerVertex);
}

// The nearest visible vertex within a distance, or -1.
function vertexAt(x, y, within) {
  let best = -1;
  let bestDistance = within * within;
  for (let vertex = 0; vertex < names.length; vertex++) {
    const distance = (across(vertex) - x) ** 2 + (down(vertex) - y) ** 2;
    if (distance < bestDistance && !hidden.has(groupOf[vertex])) {
      best = vertex;
      bestDistance = distance;
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
  // The point under (x, y) stays in place.
  const moved = 1 / view.scale - 1 / scale;
  view.x += (x - view.width / 2) * moved;
  view.y += (y - view.height / 2) * moved;
  view.scale = scale;
  redraw();
}
