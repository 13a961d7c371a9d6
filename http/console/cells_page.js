// Live cells: what each uses of its limits, as plots and as numbers.

import { get } from "./api.js";
import { el, table } from "./dom.js";
import { amountOf, Plot } from "./plot.js";
import { Samples } from "./samples.js";
import { ago, bytes, exact } from "./text.js";

const PERIOD_MS = 2000;
const MOST_PLOTS = 24;  // cells with plots; the table has all

const cores = (value) => `${number(value)} cores`;
const number = (value) => (value < 10 ? value.toFixed(2) : String(Math.round(value)));
const count = (value) => String(Math.round(value));
const word = (name, prefix) => name.replace(prefix, "").toLowerCase();

const MEASURES = [
  { label: "Memory", round: 1 << 20, text: bytes, of: (point) => point.memory, limit: (limits) => Number(limits.memory_bytes) },
  { label: "CPU", round: 0.1, text: cores, short: number, of: (point) => point.cores, limit: (limits) => Number(limits.cpu_millis) / 1000 },
  { label: "Processes", round: 8, text: count, of: (point) => point.processes, limit: (limits) => Number(limits.pids) },
];

const phase = (info) => word(info.standing?.phase ?? "", "CELL_PHASE_");

// Of a session's cell a link to it; of another the name that exec --cell gave it.
function nameOf(info) {
  const { session_id: session, agent_id: agent, component } = info.key;
  if (!session) return el("span", {}, `${exact(component || info.cell_id)} (${exact(info.key.kind)})`);
  return el("a", { href: `#/sessions/${encodeURIComponent(session)}` }, `${session.slice(0, 8)} ${exact(agent)}`);
}

function about(info) {
  const network = info.host_network ? "the host's network" : "";
  const running = `${info.running_execs} ${info.running_execs === 1 ? "command" : "commands"}`;
  return [phase(info), running, word(info.mode, "MODE_"), network, `uid ${info.owner_uid}`, `made ${ago(info.created_at)}`].filter(Boolean).join(" · ");
}

class CellView {
  constructor(info) {
    this.about = el("p", { class: "soft" });
    this.plots = MEASURES.map((measure) => new Plot(measure));
    this.element = el("article", { class: "cell", tabindex: "-1", "aria-label": `cell ${info.cell_id}` },
                      el("h3", {}, nameOf(info), el("span", { class: "of" }, info.cell_id)), this.about,
                      el("div", { class: "plots" }, this.plots.map((plot) => plot.element)));
  }

  show({ info, limits, points }, now) {
    this.about.textContent = about(info);
    MEASURES.forEach((measure, index) => {
      const line = points.map((point) => [point.at, measure.of(point)]);
      this.plots[index].show(line, limits ? measure.limit(limits) : 0, now);
    });
  }
}

function numbers({ info, limits, points }) {
  const latest = points[points.length - 1];
  const cells = MEASURES.map((measure) => {
    const value = measure.of(latest), limit = limits ? measure.limit(limits) : 0;
    if (value === null) return "measuring";
    return limit > 0 ? el("div", {}, el("meter", { min: "0", max: String(limit), value: String(value), "aria-hidden": "true" }), ` ${amountOf(measure, value, limit)}`)
      : measure.text(value);
  });
  return [nameOf(info), phase(info), ...cells];
}

export function cellsPage(main) {
  const samples = new Samples();
  const views = new Map();
  const plots = el("section", { "aria-label": "plots of the last 5 minutes" });
  const note = el("p", { class: "soft" });
  const all = el("section", { class: "numbers", "aria-label": "numbers" });
  const empty = el("p", { class: "empty", hidden: true }, "No cell is live. A session has one from its first command until it has been idle for a while.");
  const problem = el("p", { class: "problem", role: "alert" });
  main.replaceChildren(el("h1", {}, "Cells"), problem, empty, plots, note, all);

  function show(now) {
    const shown = [...samples.cells].slice(0, MOST_PLOTS);
    for (const [id, view] of views) {
      if (shown.some(([other]) => other === id)) continue;
      view.element.remove();
      views.delete(id);
    }
    for (const [id, cell] of shown) {
      if (!views.has(id)) {
        views.set(id, new CellView(cell.info));
        plots.append(views.get(id).element);
      }
      views.get(id).show(cell, now);
    }
    const more = samples.cells.size - shown.length;
    note.textContent = more > 0 ? `${more} more cells are in the table only.` : "";
    empty.hidden = samples.cells.size > 0;
    if (all.contains(document.activeElement)) return;  // a link keeps the focus
    all.replaceChildren(...(samples.cells.size === 0 ? []
      : [el("h2", {}, "Numbers"), table(["cell", "state", ...MEASURES.map(({ label }) => label)], [...samples.cells.values()].map(numbers))]));
  }

  async function sample() {
    if (document.hidden) return;
    try {
      const { cells = [] } = await get("/cells");
      const now = Date.now();
      samples.add(cells, now);
      problem.textContent = "";
      show(now);
    } catch (error) {
      problem.textContent = error.message;
    }
  }
  sample();
  const timer = setInterval(sample, PERIOD_MS);
  return () => clearInterval(timer);
}
