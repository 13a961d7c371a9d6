// The sessions of this user, and the form that makes one.

import { get, post } from "./api.js";
import { el, table } from "./dom.js";
import { removeSession } from "./session_page.js";
import { ago, exact } from "./text.js";

export function sessionsPage(main) {
  const problem = el("p", { class: "problem", role: "alert" });
  const list = el("div", {});
  const bundle = el("select", { "aria-label": "bundle" });
  const cwd = el("input", { "aria-label": "directory", placeholder: "directory that . means, e.g. /home/ada/project", size: "36" });
  const fail = (error) => { problem.textContent = error.message; };

  async function show() {
    const sessions = await get("/sessions");
    const row = (session) => [
      el("a", { href: `#/sessions/${session.id}` }, session.id.slice(0, 16)), exact(session.agent_id),
      String(session.message_count), ago(session.created_at),
      el("button", { type: "button", "aria-label": `remove session ${session.id}`, onclick: async (event) => {
        if (event.currentTarget.dataset.sure !== "yes") {
          event.currentTarget.dataset.sure = "yes";
          event.currentTarget.textContent = "Really remove";
          return;
        }
        await removeSession(session.id).then(show).catch(fail);
      } }, "Remove"),
    ];
    list.replaceChildren(sessions.length === 0 ? el("p", { class: "empty" }, "No sessions yet. Choose a bundle and make one.")
      : table(["session", "agent", "messages", "made", ""], sessions.map(row)));
  }

  async function showBundles() {
    const bundles = await get("/bundles");
    bundle.replaceChildren(...bundles.map(({ namespace, id, version }) => {
      const reference = `${namespace}/${id}@${version}`;
      return el("option", { value: reference }, reference);
    }));
    if (bundles.length === 0) bundle.replaceChildren(el("option", { value: "" }, "no bundle is installed"));
  }

  main.replaceChildren(
    el("h1", {}, "Sessions"),
    el("form", { class: "inline", onsubmit: async (event) => {
      event.preventDefault();
      problem.textContent = "";
      const body = { bundle_ref: bundle.value };
      if (cwd.value.trim() !== "") body.cwd = cwd.value.trim();
      await post("/sessions", body).then((made) => { location.hash = `#/sessions/${made.id}`; }).catch(fail);
    } }, el("label", {}, "Bundle", bundle), el("label", {}, "in", cwd), el("button", { type: "submit", class: "primary" }, "New session")),
    problem, list);
  show().catch(fail);
  showBundles().catch(fail);
  const timer = setInterval(() => { if (!list.contains(document.activeElement)) show().catch(fail); }, 5000);
  return () => clearInterval(timer);
}
