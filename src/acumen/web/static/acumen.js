// Keyboard shortcuts, selection, panel, dialogs and toasts. Pages also work without scripts.
"use strict";

const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const TOAST_MS = 10_000;
const GO = { o: "", r: "/review", m: "/memories", h: "/changes", s: "/sessions", c: "/costs", d: "/duplicates", e: "/experiments", a: "/audit", y: "/system", n: "/settings", t: "/operations", f: "/failures", p: "/proposals" };
const DO = { e: "archive", s: "supersede_by", m: "merge", p: "pin", z: "snooze", v: "mark_useful", i: "dismiss", a: "approve", r: "reject" };

// --- theme ---------------------------------------------------------------------------------------------------------

function switchTheme() {
  const chosen = document.documentElement.dataset.theme;
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const theme = dark ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("acumen-theme", theme);
  document.dispatchEvent(new Event("acumen:theme"));
}

// --- rows: focus and selection ----------------------------------------------------------------

let last = null; // name of the row that had focus last

const rows = () => all("tr[data-row]");
const rowLink = (row) => row && one("a[data-open]", row);

function here() {
  const focused = document.activeElement?.closest("tr[data-row]");
  return focused || rows().find((row) => row.dataset.row === last) || null;
}

function go(to) {
  const list = rows();
  if (!list.length) return;
  const at = list.indexOf(here());
  const next = list[Math.min(Math.max(at + to, 0), list.length - 1)];
  rowLink(next)?.focus();
}

function markHere() {
  for (const row of rows()) row.classList.toggle("here", row.dataset.row === last);
}

const boxes = () => all("tr[data-row] input[name=item]");
let anchor = null; // start of a range selection

function pick(row, range) {
  const box = row && one("input[name=item]", row);
  if (!box) return;
  const list = boxes();
  if (range && anchor && list.includes(anchor)) {
    const [from, to] = [list.indexOf(anchor), list.indexOf(box)].sort((a, b) => a - b);
    for (const between of list.slice(from, to + 1)) between.checked = true;
  } else {
    box.checked = !box.checked;
  }
  anchor = box;
  updateSelection();
}

function pickAll(on) {
  for (const box of boxes()) box.checked = on;
  const every = one("#every");
  if (every && !on) every.checked = false;
  updateSelection();
}

function updateSelection() {
  const list = boxes();
  const chosen = list.filter((box) => box.checked).length;
  const every = one("#every");
  const count = one("#chosen");
  if (count) count.textContent = every?.checked ? `All ${every.dataset.total} selected` : chosen ? `${chosen} selected` : "";
  const whole = one("#pickpage");
  if (whole) {
    whole.checked = chosen > 0 && chosen === list.length;
    whole.indeterminate = chosen > 0 && chosen < list.length;
  }
  const offer = one("#offer");
  if (offer) offer.hidden = !(chosen && chosen === list.length);
}

// --- acting ---------------------------------------------------------------------------------------------------------

function act(name) {
  const panel = one("#panel");
  const inPanel = panel && panel.contains(document.activeElement);
  const within = inPanel ? panel : one("#selection") || one("main");
  const button = one(`button[name=action][value=${name}]`, within) || one(`main button[name=action][value=${name}]`);
  if (!button || button.disabled) return;
  const row = here();
  const list = boxes();
  if (!inPanel && list.length && !list.some((box) => box.checked) && row) pick(row, false);
  button.click();
}

function toggleNavigation(button) {
  const open = one(".side").classList.toggle("open");
  button.setAttribute("aria-expanded", String(open));
}

function undo() {
  all("#toasts button[data-undo]").at(-1)?.click();
}

function closePanel() {
  const panel = one("#panel");
  if (!panel || !panel.childElementCount) return false;
  panel.replaceChildren();
  panel.closest(".withpanel")?.classList.remove("open");
  rowLink(here())?.focus();
  return true;
}

function step(by) {
  const open = one("#panel")?.childElementCount;
  if (open) {
    go(by);
    document.activeElement?.click();
  } else {
    one(by > 0 ? "a[rel=next]" : "a[rel=prev]")?.click();
  }
}

// --- keys -----------------------------------------------------------------------------------------------------------

let going = false; // after g, the next key selects a page

const writing = (target) => target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");
const quick = () => localStorage.getItem("acumen-keys") !== "off";

function escape() {
  const menu = one("details.menu[open]");
  if (menu) {
    menu.open = false;
    return true;
  }
  return closePanel();
}

function single(event) {
  const key = event.key;
  if (going) {
    going = false;
    if (key in GO) location.assign(`/ui${GO[key]}`);
    return key in GO;
  }
  const moves = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 };
  if (key in moves && rows().length) return go(moves[key]), true;
  if (key === "[" || key === "]") return step(key === "]" ? 1 : -1), true;
  if (key === "x" || key === "X") return pick(here(), event.shiftKey), true;
  if (key === "o") return rowLink(here())?.click(), true;
  if (key === "u") return undo(), true;
  if (key === ".") return toggleMenu(), true;
  if (key === "/") return one("input[type=search]")?.focus(), true;
  if (key === "g") return (going = true), true;
  if (key === "?") return one("#help").showModal(), true;
  if (key in DO) return act(DO[key]), true;
  return false;
}

function toggleMenu() {
  const menu = one("details.menu");
  if (!menu) return;
  menu.open = !menu.open;
  if (menu.open) one("button", menu)?.focus();
}

document.addEventListener("keydown", (event) => {
  if (one("dialog[open]")) return;
  if (event.key === "Escape" && escape()) return event.preventDefault();
  if (writing(event.target)) return;
  if ((event.ctrlKey || event.metaKey) && event.key === "a" && boxes().length) {
    pickAll(true);
    return event.preventDefault();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || !quick()) return;
  if (single(event)) event.preventDefault();
});

// --- page events ------------------------------------------------------------------------------------

document.addEventListener("focusin", (event) => {
  const row = event.target.closest("tr[data-row]");
  if (!row) return;
  last = row.dataset.row;
  markHere();
});

document.addEventListener("change", (event) => {
  if (event.target.id === "pickpage") pickAll(event.target.checked);
  else if (event.target.name === "item" || event.target.id === "every") updateSelection();
  else if (event.target.id === "zone") localStorage.setItem("acumen-zone", event.target.value), zonedTimes(document);
  else if (event.target.id === "quick") localStorage.setItem("acumen-keys", event.target.checked ? "on" : "off");
});

document.addEventListener("click", (event) => {
  const target = event.target.closest("[data-do]");
  if (target) ({ theme: switchTheme, menu: () => toggleNavigation(target), help: () => one("#help").showModal(), close: () => target.closest("dialog").close(), panel: closePanel, dismiss: () => target.closest(".toast, .banner").remove() })[target.dataset.do]?.();
  if (event.shiftKey && event.target.name === "item") {
    event.preventDefault();
    setTimeout(() => pick(event.target.closest("tr"), true));
  }
});

function keepWhileLooking(toast) {
  let timer = 0;
  const wait = () => (timer = setTimeout(() => toast.remove(), TOAST_MS));
  for (const name of ["mouseenter", "focusin"]) toast.addEventListener(name, () => clearTimeout(timer));
  for (const name of ["mouseleave", "focusout"]) toast.addEventListener(name, wait);
  wait();
}

// --- times in the chosen time zone ----------------------------------------------------

const zone = () => localStorage.getItem("acumen-zone") || Intl.DateTimeFormat().resolvedOptions().timeZone;

function zonedTimes(within) {
  const chosen = zone();
  // The Swedish locale formats like the server: 2026-11-16 09:00:00.
  const moment = new Intl.DateTimeFormat("sv-SE", { timeZone: chosen, dateStyle: "short", timeStyle: "medium" });
  for (const time of all("time[datetime]", within)) {
    const text = moment.format(new Date(time.dateTime));
    time.dataset.utc ??= time.title;
    time.title = chosen === "UTC" ? time.dataset.utc : `${text} ${chosen} · ${time.dataset.utc}`;
    if (time.dataset.shows) time.textContent = { date: text.slice(0, 10), clock: text.slice(11), exact: text }[time.dataset.shows];
  }
}

function offerZones() {
  const offered = one("#zone");
  if (!offered) return;
  for (const name of Intl.supportedValuesOf("timeZone")) if (name !== "UTC") offered.add(new Option(name.replaceAll("_", " "), name));
  offered.value = localStorage.getItem("acumen-zone") || "";
}

// --- after loading ---------------------------------------------------------------------------------------------------

function arrived(within) {
  zonedTimes(within);
  updateSelection();
  markHere();
  for (const toast of all(".toast:not([data-kept])")) {
    toast.dataset.kept = "";
    keepWhileLooking(toast);
  }
}

document.addEventListener("DOMContentLoaded", () => {
  arrived(document);
  offerZones();
  const quickBox = one("#quick");
  if (quickBox) quickBox.checked = quick();
});

document.addEventListener("htmx:beforeRequest", (event) => document.body.classList.toggle("busy", !event.target.matches("[data-tail]")));
document.addEventListener("htmx:afterRequest", () => document.body.classList.remove("busy"));

document.addEventListener("htmx:afterSwap", (event) => {
  const target = event.detail.target;
  arrived(document);
  if (target.id === "dialog" && target.childElementCount) {
    if (!target.open) target.showModal();
    (one("[autofocus]", target) || one("button.first", target))?.focus();
  }
  if (target.id === "panel" && target.childElementCount) {
    target.closest(".withpanel")?.classList.add("open");
    one("h2", target)?.focus();
  }
  if (target.id === "notices") target.scrollIntoView({ block: "nearest" });
});

// An action while the list is loading makes it load again.
let late = false;
document.addEventListener("acumen:changed", () => (late = !!one("#list.htmx-request")), true);
document.addEventListener("htmx:afterSettle", (event) => {
  if (late && event.target.id === "list") htmx.trigger(document.body, "acumen:changed");
});

document.addEventListener("acumen:changed", () => one("#dialog")?.close());
document.addEventListener("htmx:responseError", () => one("#dialog")?.close());

document.addEventListener("htmx:sendError", () => {
  const notices = one("#notices");
  const notice = document.createElement("p");
  notice.className = "banner bad";
  notice.textContent = "The server did not respond. Nothing was changed. Try again in a moment.";
  notices.replaceChildren(notice);
  one("#dialog")?.close();
});
