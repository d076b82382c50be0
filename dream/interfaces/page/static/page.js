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

document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
document.querySelector("#scope")?.addEventListener("change", (event) => location.assign(encodeURI(event.target.value)));
document.querySelector("#all")?.addEventListener("change", (event) => {
  for (const box of document.querySelectorAll('input[form="decide"]')) box.checked = event.target.checked;
});

function plot(element) {
  const [at, values] = JSON.parse(element.dataset.points);
  if (!values.some(Boolean)) { element.textContent = "Nothing yet."; return; }
  const colours = getComputedStyle(document.documentElement);
  const main = colours.getPropertyValue("--main").trim();
  const axis = { stroke: colours.getPropertyValue("--faint").trim(), grid: { stroke: colours.getPropertyValue("--line").trim() } };
  const bars = element.dataset.kind === "bars";
  const day = 86400;
  const last = at[at.length - 1];
  const range = () => bars ? [-0.6, at.length - 0.4] : at[0] === last ? [last - 3 * day, last + 3 * day] : [at[0], last];
  const tenths = { ...axis, space: 24, values: (_, marks) => marks.map((mark) => Number.isInteger(mark) && mark >= 0 && mark < at.length ? `.${mark}` : "") };
  const short = (_, marks) => marks.map((mark) => mark >= 1e4 ? `${mark / 1e3}k` : Number.isInteger(mark) ? `${mark}` : "");
  new uPlot({
    width: element.clientWidth, height: 160, legend: { show: false },
    scales: { x: { time: !bars, range }, y: { range: (_, low, high) => [0, high || 1] } },
    axes: [bars ? tenths : { ...axis, space: 90 }, { ...axis, size: 56, values: short }],
    series: [{}, {
      label: element.dataset.title, stroke: main, width: 2, points: { show: !bars },
      ...(bars ? { paths: uPlot.paths.bars({ size: [0.7, 60] }), fill: main } : {}),
    }],
  }, [at, values], element);
}
document.addEventListener("htmx:afterSettle", (event) => event.target.querySelectorAll(".plot:empty").forEach(plot));
