// Keys, plots and the choice of a scope. The page works without it, but for the plots.
"use strict";

const typing = () => /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "")
  && document.activeElement.type !== "checkbox";
let going = false;
let leaving = false; // From then on no key acts on the view that is being left.
let searching = false;

const items = () => [...document.querySelectorAll("[data-item]")];
// The mark, and no number beside it: what htmx puts in place of a list has nothing chosen in it.
const chosen = () => document.querySelector("[data-item].here");

function move(by) {
  const all = items();
  if (!all.length) return;
  const place = Math.max(0, Math.min(all.length - 1, all.indexOf(chosen()) + by));
  chosen()?.classList.remove("here");
  all[place].classList.add("here");
  all[place].scrollIntoView({ block: "nearest" });
}

function press(key) {
  const buttons = [...document.querySelectorAll(`[data-press="${key}"]`)];
  const button = buttons.find((one) => chosen()?.contains(one)) ?? buttons.find((one) => !one.closest("[data-item]"));
  leaving = Boolean(button);
  button?.click();
}

function go(link, hash = "") {
  if (!link) return;
  leaving = true;
  location.assign(link + hash);
}

function search() {
  const box = document.querySelector("#search");
  if (box) return box.focus();
  searching = true;
  sessionStorage.removeItem("typed");
  go(document.querySelector('nav a[data-key="m"]')?.href, "#search");
}

function keep(key) {
  const typed = sessionStorage.getItem("typed") ?? "";
  if (key.length === 1) sessionStorage.setItem("typed", typed + key);
  else if (key === "Backspace") sessionStorage.setItem("typed", typed.slice(0, -1));
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing()) return;
  if (leaving) {
    if (event.key === "Escape") { leaving = searching = false; sessionStorage.removeItem("typed"); return; }
    event.preventDefault();
    if (searching) keep(event.key);
    return;
  }
  if (event.repeat && !/^[jk]$/.test(event.key)) return;
  if (going) {
    going = event.key === "Shift";
    if (!/^[a-z]$/.test(event.key)) return;
    event.preventDefault();
    go(document.querySelector(`nav a[data-key="${event.key}"]`)?.href);
  }
  else if (event.key === "g") going = true;
  else if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
  else if (event.key === "/") { event.preventDefault(); search(); }
  else if (event.key === "x") chosen()?.querySelector("input[type=checkbox]")?.click();
  else if (event.key === "Enter" && document.activeElement === document.body) go(chosen()?.dataset.item);
  else if (/^[aruAR]$/.test(event.key)) press(event.key);
});

addEventListener("beforeunload", () => { leaving = true; });
// A view that the browser kept and shows again is left no longer.
addEventListener("pageshow", (event) => { if (event.persisted) leaving = searching = going = false; });

if (location.hash === "#search") {
  const box = document.querySelector("#search");
  box?.focus();
  document.addEventListener("DOMContentLoaded", () => {
    const typed = sessionStorage.getItem("typed");
    sessionStorage.removeItem("typed");
    if (!box || !typed) return;
    box.value = typed + box.value;
    box.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
document.addEventListener("change", ({ target }) => {
  if (target.id === "scope") location.assign(encodeURI(target.value));
  else if (target.id === "all") for (const box of document.querySelectorAll('input[form="decide"]')) box.checked = target.checked;
});

function onOwnClock(within) {
  for (const time of within.querySelectorAll("time:not([title])")) {
    const at = new Date(time.dateTime);
    const local = new Date(at - at.getTimezoneOffset() * 60000).toISOString();
    time.title = time.dateTime;
    time.textContent = time.className === "day" ? local.slice(0, 10) : local.slice(0, 16).replace("T", " ");
  }
}
onOwnClock(document);

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
document.addEventListener("htmx:afterSettle", () => onOwnClock(document));
document.addEventListener("htmx:afterSettle", (event) => event.target.querySelectorAll(".plot:empty").forEach(plot));
