// Charts from the tables next to them: the first column is the day, the others are lines.
"use strict";

// Whole numbers only.
const STEPS = [1, 2, 5].flatMap((digit) => [...Array(12).keys()].map((power) => digit * 10 ** power)).sort((a, b) => a - b);
const DAY = 86_400;
const DASHES = [[], [6, 4], [2, 3]];

// A canvas needs the resolved colour of a CSS variable.
function css(name) {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.color = `var(${name})`;
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

function columns(table) {
  const rows = [...table.tBodies[0].rows].reverse();
  const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
  const data = names.map((_, place) => rows.map((row) => (row.cells[place].dataset.value === "" ? null : Number(row.cells[place].dataset.value))));
  return { names, data, partial: rows.at(-1)?.cells[0].hasAttribute("data-partial"), texts: rows.map((row) => [...row.cells].map((cell) => cell.textContent.trim())) };
}

function axis(size) {
  return { stroke: css("--soft"), grid: { stroke: css("--line"), width: 1 }, ticks: { show: false }, size, font: "12px system-ui" };
}

function short(value) {
  return Math.abs(value) >= 1000 ? `${+(value / 1000).toPrecision(3)}k` : String(value);
}

function readout(figure, names, texts, place) {
  const line = figure.querySelector(".readout");
  const shown = texts[place] || texts[texts.length - 1] || [];
  line.replaceChildren(
    ...shown.map((text, at) => {
      const part = document.createElement("span");
      if (at && at <= Number(figure.dataset.lines)) part.className = `key ${["", "two", "three"][at - 1]}`;
      const value = document.createElement("b");
      value.textContent = text;
      part.append(at ? `${names[at]} ` : "", value);
      return part;
    }),
  );
}

function draw(figure) {
  const plot = figure.querySelector(".plot");
  const { names, data, partial, texts } = columns(figure.querySelector("table"));
  const lines = Number(figure.dataset.lines);
  plot.replaceChildren();
  if (!data[0].length) return;
  const series = names.slice(1, lines + 1).map((name, at) => ({
    label: name,
    stroke: css(`--chart-${at + 1}`),
    width: 2,
    dash: DASHES[at],
    fill: at ? undefined : css("--chart-1").replace(")", " / 8%)").replaceAll(",", ""),
    points: { show: data[0].length < 40, size: 5, fill: css("--surface") },
  }));
  // Today is not over: a dotted line leads to it.
  if (partial && data[0].length > 1) {
    for (let at = 0; at < lines; at += 1) {
      const values = data[at + 1];
      series.push({ ...series[at], dash: [1, 4], fill: undefined });
      data.splice(lines + 1 + at, 0, values.map((value, place) => (place < values.length - 2 ? null : value)));
      data[at + 1] = values.map((value, place) => (place < values.length - 1 ? value : null));
    }
  }
  const chart = new uPlot(
    {
      width: plot.clientWidth,
      height: 210,
      legend: { show: false },
      cursor: { y: false, points: { size: 7 } },
      // A single day is centred.
      scales: { x: { range: (_, first, last) => (first === last ? [first - DAY, last + DAY] : [first, last]) }, y: { range: (_, low, high) => [0, Math.max(high * 1.08, 1)] } },
      axes: [{ ...axis(30), space: 90, values: (_, ticks) => ticks.map((tick) => new Date(tick * 1000).toISOString().slice(0, 10)) }, { ...axis(46), incrs: STEPS, values: (_, ticks) => ticks.map(short) }],
      series: [{}, ...series],
      hooks: { setCursor: [(at) => readout(figure, names, texts, at.cursor.idx)] },
    },
    data.slice(0, series.length + 1),
    plot,
  );
  readout(figure, names, texts, null);
  return chart;
}

function drawAll() {
  for (const figure of document.querySelectorAll("figure.chart")) draw(figure);
}

document.addEventListener("DOMContentLoaded", () => {
  drawAll();
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) drawAll();
    width = innerWidth;
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
});
document.addEventListener("acumen:theme", drawAll);
// A reloaded part of the page has only the table of its chart.
document.addEventListener("htmx:afterSwap", () => {
  for (const figure of document.querySelectorAll("figure.chart")) if (!figure.querySelector(".plot > *")) draw(figure);
});
