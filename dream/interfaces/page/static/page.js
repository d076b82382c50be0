// Keys, plots and the choice of a scope. The page works without it, but for the plots.
"use strict";

const typing = () => /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "")
  && document.activeElement.type !== "checkbox";
let place = -1;
let going = false;

const items = () => [...document.querySelectorAll("[data-item]")];

function move(by) {
  const all = items();
  if (!all.length) return;
  all[place]?.classList.remove("here");
  place = Math.max(0, Math.min(all.length - 1, place + by));
  all[place].classList.add("here");
  all[place].scrollIntoView({ block: "nearest" });
}

function press(key) {
  const within = items()[place] ?? document;
  const button = within.querySelector(`[data-press="${key}"]`) ?? document.querySelector(`[data-press="${key}"]`);
  button?.click();
  return Boolean(button);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing()) return;
  if (going) {
    going = false;
    const wanted = document.querySelector(`nav a[data-key="${event.key}"]`);
    if (wanted) { event.preventDefault(); wanted.click(); }
    return;
  }
  const here = items()[place];
  if (event.key === "g") going = true;
  else if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
  else if (event.key === "/" && document.querySelector("#search")) { event.preventDefault(); document.querySelector("#search").focus(); }
  else if (event.key === "x") here?.querySelector("input[type=checkbox]")?.click();
  else if (event.key === "Enter" && here?.dataset.item && document.activeElement === document.body) location.assign(here.dataset.item);
  else if (/^[aruAR]$/.test(event.key)) press(event.key);
});

document.querySelector("#scope")?.addEventListener("change", (event) => location.assign(encodeURI(event.target.value)));
document.querySelector("#all")?.addEventListener("change", (event) => {
  for (const box of document.querySelectorAll('input[form="decide"]')) box.checked = event.target.checked;
});

function plot(element) {
  const [at, values] = JSON.parse(element.dataset.points);
  if (!at.length) { element.textContent = "Nothing yet."; return; }
  const colours = getComputedStyle(document.documentElement);
  const faint = colours.getPropertyValue("--faint").trim();
  const axis = { stroke: faint, grid: { stroke: colours.getPropertyValue("--line").trim() } };
  const day = 86400;
  const range = (_, first, last) => (first === last ? [first - day, last + day] : [first, last]);
  new uPlot({
    width: element.clientWidth, height: 160, legend: { show: false }, scales: { x: { range }, y: { range: (_, low, high) => [0, high || 1] } },
    axes: [axis, { ...axis, size: 64 }],
    series: [{}, { label: element.dataset.title, stroke: colours.getPropertyValue("--main").trim(), width: 2, points: { show: true } }],
  }, [at, values], element);
}
addEventListener("load", () => document.querySelectorAll(".plot").forEach(plot));
