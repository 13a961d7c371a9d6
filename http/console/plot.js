// A line over the last minutes, against a limit.

import { KEEP_MS, pathOf, scaleEnd } from "./samples.js";

const WIDTH = 240, HEIGHT = 56;
const SVG = "http://www.w3.org/2000/svg";

function part(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

// "3.0 MiB of 512 MiB", "0.20 of 1.00 cores".
export const amountOf = ({ text, short = text }, value, limit) => (limit > 0 ? `${short(value)} of ${text(limit)}` : text(value));

// A measure has `label`; `round`, the least end of its scale; `text(value)`, a value for people; `short(value)`, the same without
// its unit, if that can be left out.
export class Plot {
  constructor(measure) {
    this.measure = measure;
    this.element = document.createElement("figure");
    this.element.className = "plot";
    this.caption = document.createElement("figcaption");
    this.drawing = part("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" });
    this.area = part("path", { class: "area" });
    this.line = part("path", { class: "line" });
    this.bound = part("line", { class: "bound", x1: "0", x2: String(WIDTH) });
    this.end = document.createElement("span");
    this.end.className = "soft end";
    this.drawing.append(this.area, this.line, this.bound);
    this.element.append(this.caption, this.drawing, this.end);
  }

  // `points`: [time, value] pairs; `limit`: 0: none is known.
  show(points, limit, now) {
    const values = points.flatMap(([, value]) => (value === null ? [] : [value]));
    const latest = values.length > 0 ? values[values.length - 1] : null;
    const peak = Math.max(0, ...values);
    const { label, round, text } = this.measure;
    const end = scaleEnd(peak, limit, round);
    const place = { from: now - KEEP_MS, to: now, end, width: WIDTH, height: HEIGHT };
    const line = pathOf(points, place);
    const first = points.find(([, value]) => value !== null);
    this.line.setAttribute("d", line);
    this.area.setAttribute("d", first ? `${line}V${HEIGHT}H${(((first[0] - place.from) / KEEP_MS) * WIDTH).toFixed(1)}Z` : "");
    const y = limit > 0 && limit <= end ? HEIGHT - (limit / end) * HEIGHT + 1 : -10;
    this.bound.setAttribute("y1", String(y));
    this.bound.setAttribute("y2", String(y));
    this.caption.textContent = latest === null ? `${label}: measuring` : `${label} ${amountOf(this.measure, latest, limit)}`;
    this.end.textContent = text(end);
    this.drawing.setAttribute("aria-label", latest === null ? `${label}: measuring`
      : `${label} of the last 5 minutes: now ${text(latest)}, at most ${text(peak)}${limit > 0 ? `, limit ${text(limit)}` : ""}`);
  }
}
