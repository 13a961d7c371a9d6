// Requests for approval that wait, kept from the server's stream.

import { follow, get, post } from "./api.js";

export class Inbox {
  constructor(connection) {
    this.requests = new Map();  // request id → approval, oldest first
    this.watchers = new Set();
    this.connection = connection;
  }

  start() {
    follow("/approvals/watch", (approval) => {
      this.requests.set(approval.request.request_id, approval);
      this.tell();
    }, (connected, closed) => {
      this.connection(connected, closed);
      if (connected) this.refresh();
    });
    // Other clients answer, and requests expire: the stream has new requests only.
    setInterval(() => { if (this.requests.size > 0) this.refresh(); }, 2000);
  }

  async refresh() {
    const { approvals = [] } = await get("/approvals").catch(() => ({ approvals: [...this.requests.values()] }));
    this.requests = new Map(approvals.map((approval) => [approval.request.request_id, approval]));
    this.tell();
  }

  pending() {
    return [...this.requests.values()];
  }

  // The digest names what was shown: an answer to another request is refused.
  // `scope`: of a request with grants, how far they reach; none: as the request says.
  async answer(request, decision, scope) {
    const body = { decision, digest: request.digest ?? "" };
    if (scope) body.grant_scope = scope;
    const { resolved } = await post(`/approvals/${encodeURIComponent(request.request_id)}`, body);
    this.requests.delete(request.request_id);
    this.tell();
    if (!resolved) throw new Error("it was answered already, or is no longer asked");
  }

  // Calls `change` after each change; returns the function that ends this.
  watch(change) {
    this.watchers.add(change);
    return () => this.watchers.delete(change);
  }

  tell() {
    for (const watcher of this.watchers) watcher();
  }
}
