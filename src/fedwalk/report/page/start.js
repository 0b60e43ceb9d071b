// Draw the map, and redraw it when the size or the colours change. Print is always in light colours, with all tables open.

function recolour() {
  readColours();
  draw();
}

document.getElementById("no-map").hidden = true;
readColours();
new ResizeObserver(resize).observe(canvas);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);

let closed = [];
window.addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const details of closed) details.open = true;
  document.documentElement.classList.add("printing");
  recolour();
});
window.addEventListener("afterprint", () => {
  for (const details of closed) details.open = false;
  document.documentElement.classList.remove("printing");
  recolour();
});
