// The inbox: what waits for an answer, of all sessions of this user.

import { el } from "./dom.js";
import { approvalView } from "./approval_view.js";

// `inbox` is the Inbox; `page` is torn down by the function that this returns.
export function approvalsPage(main, inbox) {
  const list = el("section", { "aria-live": "polite", "aria-label": "pending approvals" });
  const empty = el("p", { class: "empty" }, "Nothing waits for an answer. What agents ask appears here by itself.");
  const shown = new Map();
  main.replaceChildren(el("h1", {}, "Approvals"), list, empty);

  function show() {
    const pending = inbox.pending();
    const ids = new Set(pending.map(({ request }) => request.request_id));
    for (const [id, element] of shown) {
      if (ids.has(id)) continue;
      const focused = element.contains(document.activeElement);
      const next = element.nextElementSibling ?? element.previousElementSibling;
      element.remove();
      shown.delete(id);
      if (focused) (next ?? main).focus();
    }
    for (const { request, session_id: session } of pending) {
      if (shown.has(request.request_id)) continue;
      const element = approvalView(request, { session, answer: (decision, scope) => inbox.answer(request, decision, scope) });
      shown.set(request.request_id, element);
      list.append(element);
    }
    empty.hidden = pending.length > 0;
    if (document.activeElement === document.body) list.firstElementChild?.focus();
  }
  show();
  return inbox.watch(show);
}
