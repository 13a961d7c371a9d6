// A unified diff, a line an element. Names and content come from a cell.

import { el } from "./dom.js";
import { exact } from "./text.js";

const KINDS = [["+++", "file"], ["---", "file"], ["diff ", "file"], ["@@", "hunk"], ["+", "added"], ["-", "removed"],
               ["\\", "note"]];

export function lineKind(line) {
  return KINDS.find(([prefix]) => line.startsWith(prefix))?.[1] ?? "context";
}

export function diffView(text) {
  const lines = text.replace(/\n$/, "").split("\n");
  return el("pre", { class: "diff", tabindex: "0", "aria-label": "changes" },
            lines.map((line) => el("span", { class: lineKind(line) }, `${exact(line)}\n`)));
}
