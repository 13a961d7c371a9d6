// An item of a conversation as an element.

import { el } from "./dom.js";
import { approvalView, argumentsView } from "./approval_view.js";
import { exact, output } from "./text.js";
import { describeDecision, describeDenial } from "./words.js";

const MOST_LINES = 400;  // of an output that are shown; the rest is in `session events`

function callView(item) {
  const result = item.result === null ? null
    : el("details", {}, el("summary", {}, "result"), argumentsView(item.result));
  const failure = item.state === "failed" ? el("p", { class: "failed" }, exact(item.result?.error ?? "failed")) : null;
  return el("div", {}, el("div", { class: "head" }, el("span", { class: "name" }, exact(item.name)),
                          el("span", { class: `state ${item.state}` }, item.state)),
            el("details", { open: item.name !== "Bash" && item.state === "runs" }, el("summary", {}, "arguments"),
               argumentsView(item.arguments)),
            failure, result);
}

function commandView(item) {
  const pieces = item.output.map(({ stream, text }) => [stream, output(text)]);
  const lines = pieces.reduce((sum, [, text]) => sum + text.split("\n").length - 1, 0);
  let left = lines - MOST_LINES;
  const shown = pieces.map(([stream, text]) => {
    const parts = text.split("\n");
    const cut = Math.max(0, Math.min(left, parts.length - 1));
    left -= cut;
    return [stream, parts.slice(cut).join("\n")];
  });
  const cut = item.cut || lines > MOST_LINES ? el("div", { class: "soft" }, "… earlier output is left out") : null;
  const words = item.argv.length === 3 && ["-c", "-lc"].includes(item.argv[1]) ? item.argv[2] : item.argv.join(" ");
  return el("div", {}, el("div", { class: "head" }, el("code", {}, `$ ${exact(words)}`),
                          el("span", { class: item.outcome === null || item.good ? "soft" : "failed" },
                             item.outcome ?? (item.job ? `background job ${item.job}` : "runs"))),
            cut, shown.some(([, text]) => text !== "")
              ? el("pre", { class: "output" }, shown.map(([stream, text]) => el("span", { class: stream }, text))) : null);
}

const grant = (text) => (text ? el("p", { class: "soft" }, "would be allowed by: ", el("code", {}, exact(text))) : null);

const VIEWS = {
  prompt: (item) => el("pre", {}, exact(item.text)),
  text: (item) => el("pre", {}, exact(item.text)),
  reasoning: (item) => el("details", {}, el("summary", {}, "reasoning"), el("pre", {}, exact(item.text))),
  call: callView,
  command: commandView,
  denial: (item) => el("div", {}, exact(describeDenial(item.denial)), grant(item.denial.grant)),
  egress: (item) => el("div", {}, exact(describeDecision(item.decision)), grant(item.decision.grant)),
  changes: (item) => el("div", {}, "waits for a commit: ",
    Object.entries(item.counts).filter(([, count]) => count > 0).map(([kind, count]) => `${count} ${kind}`).join(", ")),
  worker: (item) => el("div", {}, `worker ${exact(item.worker)} works in `,
                       el("a", { href: `#/sessions/${item.session}` }, item.session)),
  note: (item) => el("div", {}, exact(item.text)),
  end: (item) => el("div", {}, `turn ${item.outcome}${item.text ? `: ${exact(item.text)}` : ""}`),
};

// `answer(request, decision, scope)` as in approvalView.
export function itemView(item, answer) {
  const view = item.kind === "approval"
    ? approvalView(item.request, { answer: (decision, scope) => answer(item.request, decision, scope), answered: item.answer })
    : VIEWS[item.kind](item);
  const variant = item.kind === "end" ? item.outcome : item.kind === "egress" ? item.decision.verdict : "";
  return el("div", { class: `item of-${item.kind} ${variant}` }, view);
}
