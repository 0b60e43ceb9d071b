// Mouse, touch and keyboard on the map.

const pointers = new Map(); // the pressed pointers (mouse or fingers) and their last positions
let travelled = 0; // pixels since the press: a short way is a click

function position(event) {
  const frame = canvas.getBoundingClientRect();
  return [event.clientX - frame.left - canvas.clientLeft, event.clientY - frame.top - canvas.clientTop];
}

canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, position(event));
  travelled = 0;
  canvas.classList.add("held");
});

canvas.addEventListener("pointermove", (event) => {
  const [x, y] = position(event);
  const before = pointers.get(event.pointerId);
  if (!before) {
    point(vertexAt(x, y, REACH));
    return;
  }
  travelled += Math.hypot(x - before[0], y - before[1]);
  // Two fingers: zoom by the change of their distance, around the point between them.
  const other = [...pointers].find(([id]) => id !== event.pointerId);
  if (other) {
    const [there] = other.slice(1);
    const apart = (spot) => Math.max(1, Math.hypot(spot[0] - there[0], spot[1] - there[1]));
    zoomBy(apart([x, y]) / apart(before), (x + there[0]) / 2, (y + there[1]) / 2);
  }
  moveBy((x - before[0]) / pointers.size, (y - before[1]) / pointers.size);
  pointers.set(event.pointerId, [x, y]);
});

function release(event) {
  const held = pointers.delete(event.pointerId);
  if (pointers.size === 0) canvas.classList.remove("held");
  if (!held || event.type === "pointercancel" || travelled > 6) return;
  const vertex = vertexAt(...position(event), REACH * (event.pointerType === "mouse" ? 1 : 2));
  if (vertex >= 0) choose(vertex);
}

canvas.addEventListener("pointerup", release);
canvas.addEventListener("pointercancel", release);
canvas.addEventListener("pointerleave", (event) => {
  if (event.pointerType === "mouse") point(-1); // lifting a finger also fires this event
});

// The wheel scrolls the page, unless Ctrl is pressed or the map has the focus.
canvas.addEventListener(
  "wheel",
  (event) => {
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
    event.preventDefault();
    zoomBy(Math.exp(-event.deltaY / (event.deltaMode ? 20 : 300)), ...position(event));
  },
  { passive: false },
);

const KEYS = {
  ArrowLeft: () => moveBy(40, 0),
  ArrowRight: () => moveBy(-40, 0),
  ArrowUp: () => moveBy(0, 40),
  ArrowDown: () => moveBy(0, -40),
  "+": () => zoomBy(1.4),
  "=": () => zoomBy(1.4),
  "-": () => zoomBy(1 / 1.4),
  0: showWhole,
};

canvas.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Enter" && marked.hovered >= 0) choose(marked.hovered);
  else if (event.key in KEYS) {
    KEYS[event.key]();
    point(vertexAt(view.width / 2, view.height / 2, Infinity));
  } else return;
  event.preventDefault();
});

canvas.addEventListener("focus", () => {
  if (canvas.matches(":focus-visible")) point(vertexAt(view.width / 2, view.height / 2, Infinity));
});

document.getElementById("closer").addEventListener("click", () => zoomBy(1.6));
document.getElementById("farther").addEventListener("click", () => zoomBy(1 / 1.6));
document.getElementById("whole").addEventListener("click", showWhole);
