// The console: which page is shown, the one-time link, and the keys.

import { get, post } from "./api.js";
import { approvalsPage } from "./approvals_page.js";
import { cellsPage } from "./cells_page.js";
import { el, table } from "./dom.js";
import { Inbox } from "./inbox.js";
import { sessionPage } from "./session_page.js";
import { sessionsPage } from "./sessions_page.js";

const KEYS = [
  ["y, a, s, n", "allow once, always in this session, what it adds to the cell for this session, or deny: the request with the focus, or the only one"],
  ["j, k", "the next and the previous request"],
  ["g a, g s, g c", "approvals, sessions, cells"],
  ["1 to 6", "of a session: conversation, changes, refused, network, policy, record; also the arrow keys on the tabs"],
  ["/", "to the prompt"],
  ["Enter, Shift+Enter", "send the prompt, a new line in it"],
  ["c", "cancel the turn of the session"],
  ["Esc", "leave the prompt"],
  ["?", "this page"],
];

const main = document.getElementById("main");
const connection = document.getElementById("connection");
const pending = document.getElementById("pending");
let page = { close() {} };

const inbox = new Inbox((connected, closed) => {
  connection.className = connected ? "" : "lost";
  connection.textContent = connected ? "connected" : closed ? "signed out" : "connection lost, trying again";
  if (closed) signedOut();
});

function signedOut(problem = "") {
  page.close();
  page = { close() {} };
  main.replaceChildren(el("h1", {}, "Open the console with a link"),
    el("p", {}, "On the machine of Odyssey, type ", el("code", {}, "odyssey-ctl web"), " and open the link that it prints. A link works once."),
    el("p", { class: "problem", role: "alert" }, problem));
}

function showKeys() {
  main.replaceChildren(el("h1", {}, "Keys"), table(["key", "what it does"], KEYS.map(([keys, what]) => [el("kbd", {}, keys), what])));
  return { close() {} };
}

function route() {
  page.close();
  const [view = "approvals", id] = location.hash.replace(/^#\/?/, "").split("/").filter(Boolean);
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (view === "sessions" && id) page = sessionPage(main, id, inbox);
  else if (view === "sessions") page = { close: sessionsPage(main) };
  else if (view === "cells") page = { close: cellsPage(main) };
  else if (view === "help") page = showKeys();
  else page = { close: approvalsPage(main, inbox) };
}

// Of the request that has the focus, or of the only one that is shown.
function answerByKey(key) {
  const shown = document.querySelectorAll(".approval.waits");
  const request = document.activeElement?.closest?.(".approval.waits") ?? (shown.length === 1 ? shown[0] : null);
  const button = request?.querySelector(`button[data-key="${key}"]`);
  button?.click();
  return Boolean(button);
}

function step(by) {
  const all = [...document.querySelectorAll(".approval.waits")];
  const at = all.indexOf(document.activeElement?.closest?.(".approval.waits"));
  all[Math.max(0, Math.min(all.length - 1, at + by))]?.focus();
}

let prefix = "";
const ACTIONS = {
  y: () => answerByKey("y"), a: () => answerByKey("a"), s: () => answerByKey("s"), n: () => answerByKey("n"),
  j: () => step(1), k: () => step(-1),
  "g a": () => { location.hash = "#/approvals"; }, "g s": () => { location.hash = "#/sessions"; },
  "g c": () => { location.hash = "#/cells"; },
  "/": () => page.focusPrompt?.(), c: () => page.cancel?.(), "?": () => { location.hash = "#/help"; },
};

for (let index = 0; index < 9; ++index) ACTIONS[index + 1] = () => page.showNth?.(index);

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest?.("input, textarea, select");
  if (typing) {
    if (event.key === "Escape") main.focus();
    return;
  }
  const key = prefix === "g" ? `g ${event.key}` : event.key;
  prefix = event.key === "g" && prefix === "" ? "g" : "";
  const action = ACTIONS[key];
  if (!action) return;
  event.preventDefault();
  action();
});

inbox.watch(() => {
  const count = inbox.pending().length;
  pending.hidden = count === 0;
  pending.textContent = String(count);
  document.title = count === 0 ? "Odyssey" : `(${count}) Odyssey`;
});

async function start() {
  const secret = /^#link=([\w-]+)$/.exec(location.hash)?.[1];
  if (secret) {
    history.replaceState(null, "", location.pathname);
    try {
      await post("/sign-in", { secret });
    } catch (error) {
      signedOut(error.message);
      return;
    }
  }
  try {
    await get("/approvals");
  } catch (error) {
    signedOut(error.status === 401 ? "" : error.message);
    return;
  }
  window.addEventListener("hashchange", route);
  inbox.start();
  route();
}

start();
