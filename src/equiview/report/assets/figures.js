// Figures: drawn one after another once the page is up, redrawn in the theme's colours when it changes.

const NARROW = 600; // pixels under which charts of many categories lie on their side
const CATEGORY = 19; // pixels a category takes then
const PAPER = 656; // pixels between the margins of a printed page, less a figure's own
const drawn = new Map(); // plot element -> its spec

/** The theme's colours as plotly can read them: computed ones, from the plot's own element. */
function theme(plot) {
  const style = getComputedStyle(plot);
  return { ink: style.color, sheet: style.backgroundColor, line: style.borderTopColor, font: style.fontFamily };
}

/** A copy in which every colour named "ink" is the theme's. */
function inked(value, ink) {
  if (Array.isArray(value)) return typeof value[0] === "object" ? value.map((inner) => inked(inner, ink)) : value;
  if (value === null || typeof value !== "object") return value === "ink" ? ink : value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inked(inner, ink)]));
}

/** What a narrow screen shows instead: x and y exchanged, a line of its own for every category. */
function sideways({ data, layout }) {
  const turned = data.map((trace) => {
    const other = { ...trace, x: trace.y, y: trace.x, orientation: "h" };
    delete other.error_y;
    if (trace.error_y) other.error_x = trace.error_y;
    if (trace.marker && trace.marker.symbol === "line-ew") other.marker = { ...trace.marker, symbol: "line-ns" };
    return other;
  });
  const categories = layout.xaxis.categoryarray.length;
  return {
    data: turned,
    layout: {
      ...layout,
      xaxis: { ...layout.yaxis, nticks: 5 },
      yaxis: { ...layout.xaxis, range: [categories - 0.4, -0.6], title: { text: "" } },
      height: Math.max(320, 120 + categories * CATEGORY),
      shapes: layout.shapes.map((s) => ({ ...s, xref: "x", yref: "paper", x0: s.y0, x1: s.y1, y0: 0, y1: 1 })),
      annotations: layout.annotations.map((a) => ({
        ...a, xref: "x", yref: "paper", x: a.y, y: 1, yanchor: "bottom",
        // Words at neighbouring lines run away from each other.
        xanchor: layout.annotations.some((other) => other.y > a.y) ? "right" : "left",
      })),
    },
  };
}

/** The same traces with those labels blanked that would lie upon another; hovering says them all. */
function uncrowded(data, layout, width) {
  const number = (value) => typeof value === "number";
  const labelled = data.filter((trace) => trace.mode === "markers+text" && trace.x.every(number));
  if (!labelled.length) return data;
  const span = (values, range) => (range ? range[1] - range[0] : Math.max(...values) - Math.min(...values) || 1);
  const across = (width - 90) / span(labelled.flatMap((trace) => trace.x));
  const up = 260 / span(labelled.flatMap((trace) => trace.y).filter(number), layout.yaxis.range);
  const kept = [];
  return data.map((trace) => (!labelled.includes(trace) ? trace : {
    ...trace,
    text: trace.text.map((word, i) => {
      const box = { x: trace.x[i] * across, y: trace.y[i] * up, half: 3.3 * word.length };
      if (kept.some((other) => Math.abs(other.x - box.x) < other.half + box.half && Math.abs(other.y - box.y) < 13)) return "";
      kept.push(box);
      return word;
    }),
  }));
}

/** Pixels that a legend needs beyond its first line. */
function legendRoom(data, layout, width) {
  if (!layout.showlegend) return 0;
  const named = data.filter((trace) => trace.showlegend !== false);
  return 19 * Math.floor(named.reduce((sum, trace) => sum + 44 + 6.2 * trace.name.length, 0) / Math.max(120, width - 70));
}

/** A heat map's axes with only as many of its categories named as there is room for. */
function thinned(layout, width) {
  const some = (axis, room) => {
    const step = axis.tickvals ? Math.ceil((axis.tickvals.length * 12) / Math.max(60, room)) : 1;
    if (step === 1) return axis;
    const kept = axis.tickvals.filter((_, i) => i % step === 0);
    return { ...axis, tickvals: kept, ticktext: kept };
  };
  return { ...layout, xaxis: some(layout.xaxis, width - 190), yaxis: some(layout.yaxis, layout.height - 140) };
}

/** An axis title in two lines where one would be cut off. */
function wrapped(axis, room) {
  const text = axis.title && axis.title.text;
  if (!text || text.includes("<br>") || 6.4 * text.length <= room) return axis;
  const spaces = [...text].flatMap((letter, i) => (letter === " " ? [i] : []));
  const middle = spaces.sort((a, b) => Math.abs(a - text.length / 2) - Math.abs(b - text.length / 2))[0];
  if (middle === undefined) return axis;
  return { ...axis, title: { ...axis.title, text: `${text.slice(0, middle)}<br>${text.slice(middle + 1)}` } };
}

/** Ticks at 1, 2 and 5 on a logarithmic axis of less than two decades: at powers of ten there may be one.
 *
 * They are named here, since plotly writes 0.5 as a small 5 there, as if the 1 above it were a 10. */
function ticked(axis, values) {
  const shown = values.filter((value) => typeof value === "number" && value > 0);
  if (axis.type !== "log" || !shown.length || Math.max(...shown) > 100 * Math.min(...shown)) return axis;
  const from = Math.floor(Math.log10(Math.min(...shown))) - 1;
  const decades = [0, 1, 2, 3, 4].map((further) => from + further);
  return { ...axis, tickmode: "array", tickvals: decades.flatMap((power) => [1, 2, 5].map((digit) => Number(`${digit}e${power}`))) };
}

/** An axis whose title keeps clear of its labels, however wide they are: plotly makes room for both. */
function apart(axis) {
  return axis.title ? { ...axis, title: { ...axis.title, standoff: 8 } } : axis;
}

function dressed(plot, spec, width) {
  const colours = theme(plot);
  const narrow = width < NARROW;
  const { data, layout: full } = inked(spec.flip && narrow ? sideways(spec) : spec, colours.ink);
  const layout = data[0].type === "heatmap" ? thinned(full, width) : full;
  const axis = { gridcolor: colours.line, linecolor: colours.line, tickcolor: colours.line };
  return {
    data: uncrowded(data, layout, width),
    layout: {
      ...layout,
      width,
      height: layout.height + legendRoom(data, layout, width),
      dragmode: false,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: colours.font, size: 12, color: colours.ink },
      hoverlabel: { bgcolor: colours.sheet, bordercolor: colours.ink, font: { color: colours.ink, family: colours.font }, align: "left" },
      xaxis: { ...wrapped(ticked(layout.xaxis, data.flatMap((trace) => trace.x || [])), width - 90), ...axis, automargin: true, fixedrange: true },
      yaxis: { ...apart(wrapped(ticked(layout.yaxis, data.flatMap((trace) => trace.y || [])), layout.height - 120)), ...axis, fixedrange: true },
    },
  };
}

function draw(plot, width = plot.clientWidth) {
  const { data, layout } = dressed(plot, drawn.get(plot), width);
  return Plotly.react(plot, data, layout, { displayModeBar: false, responsive: false });
}

/** The picture and words of the mark under the pointer. */
function showCards(plot, cards) {
  const card = document.getElementById("card");
  const image = card.querySelector("img");
  let request = 0;
  plot.on("plotly_hover", async ({ points, event }) => {
    const shown = cards[points[0].customdata];
    if (!shown) return;
    const turn = ++request;
    const picture = await pictureAt(shown.picture);
    if (turn !== request) return; // the pointer has gone on
    image.hidden = !picture;
    if (picture) image.src = picture;
    card.querySelector("p").textContent = shown.lines.join("\n");
    card.hidden = false;
    const { width, height } = card.getBoundingClientRect();
    card.style.left = `${Math.max(8, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
    card.style.top = `${Math.max(8, Math.min(event.clientY + 14, innerHeight - height - 8))}px`;
  });
  plot.on("plotly_unhover", () => { request += 1; card.hidden = true; });
}

/** Panels that stand side by side share their scale, else the eye compares what is not alike. */
function shareScale(panels) {
  const { type } = panels[0].layout.yaxis;
  if (panels.some((panel) => panel.layout.barmode === "stack" || panel.data[0].type === "heatmap")) return;
  const log = type === "log";
  const ends = panels.flatMap((panel) => panel.data.flatMap((trace) => endsOf(trace)))
    .filter((y) => typeof y === "number" && (!log || y > 0)).map((y) => (log ? Math.log10(y) : y));
  if (!ends.length) return;
  const fromZero = panels[0].layout.yaxis.rangemode === "tozero";
  const low = fromZero ? Math.min(0, ...ends) : Math.min(...ends);
  const high = Math.max(...ends);
  const room = 0.06 * (high - low || 1);
  panels.forEach((panel) => { panel.layout.yaxis.range = [fromZero && low === 0 ? 0 : low - room, high + room]; });
}

function endsOf(trace) {
  const y = trace.y || [];
  if (!trace.error_y) return y;
  return y.flatMap((value, i) => (typeof value === "number" ? [value - trace.error_y.arrayminus[i], value + trace.error_y.array[i]] : []));
}

let plotly = null;

/** Plotly, inflated when a figure is first drawn. */
function needPlotly() {
  plotly = plotly || inflate("plotly").then((bytes) => {
    const script = document.createElement("script");
    script.textContent = new TextDecoder().decode(bytes);
    document.head.append(script);
  });
  return plotly;
}

async function drawFigure(figure) {
  const plots = [...figure.querySelectorAll(".plot")];
  try {
    await needPlotly();
    const { panels, shared } = await unpack(`${figure.id}-data`);
    if (shared) shareScale(panels);
    for (const [place, plot] of plots.entries()) {
      drawn.set(plot, panels[place]);
      await draw(plot);
      if (panels[place].cards.length) showCards(plot, panels[place].cards);
      await breathe();
    }
    figure.dataset.drawn = "yes";
  } catch (error) {
    page.failures += 1;
    figure.dataset.drawn = "failed";
    document.documentElement.dataset.ready = "failed";
    console.error(`figure ${figure.id}:`, error);
    plots.forEach((plot) => {
      plot.classList.add("failed");
      plot.textContent = "This figure could not be drawn; its numbers are in the table below.";
    });
  }
}

/** Draw those figures that stand in no closed part of the page, and that are not drawn or begun. */
async function drawVisible() {
  for (const figure of document.querySelectorAll('.figure[data-kind="chart"]:not([data-drawn])')) {
    if (figure.closest("details:not([open])") || figure.dataset.drawn) continue;
    figure.dataset.drawn = "begun";
    await drawFigure(figure);
  }
}

const redraw = () => { for (const plot of drawn.keys()) if (plot.clientWidth) draw(plot); };
document.addEventListener("themechange", redraw);
let waiting = 0;
let lastWidth = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === lastWidth) return; // a phone's address bar coming and going
  lastWidth = innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(redraw, 120);
});

// A part that is opened draws its figures; those that it had are of the screen and theme of then.
document.querySelectorAll("details.part").forEach((part) => {
  part.addEventListener("toggle", () => {
    if (!part.open) return;
    part.querySelectorAll(".plot").forEach((plot) => { if (drawn.has(plot)) draw(plot); });
    drawVisible();
  });
});

// Paper is light and narrow whatever the screen is.
let before = "auto";
addEventListener("beforeprint", () => {
  before = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
  for (const plot of drawn.keys()) {
    if (!plot.clientWidth) continue;
    const beside = Math.min(3, plot.closest(".panels").children.length);
    draw(plot, (PAPER - 16 * (beside - 1)) / beside);
  }
});
addEventListener("afterprint", () => setTheme(before));

drawVisible().then(() => { document.documentElement.dataset.ready ||= "yes"; });
