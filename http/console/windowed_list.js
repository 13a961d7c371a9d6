// A list of which only what is visible is in the document: 10,000 items cost as much as those on the screen.

import { el } from "./dom.js";

const GUESS = 28;  // pixels of an item that was not measured yet
const MARGIN = 600;  // pixels above and below the visible part that are in the document too

export class WindowedList {
  // `render(item)` makes an item's element; it is called again after `changed`.
  constructor(render, attributes = {}) {
    this.render = render;
    this.items = [];
    this.heights = [];
    this.shown = new Map();  // index → element
    this.body = el("div", { class: "windowed-body" });
    this.element = el("div", { class: "windowed", tabindex: "0", ...attributes }, this.body);
    this.follows = true;  // the last item stays in view until a person scrolls up
    this.scheduled = false;
    this.top = 0;  // where it was scrolled to when this was last looked at
    this.element.addEventListener("scroll", () => {
      const { scrollTop, clientHeight, scrollHeight } = this.element;
      // Items that came meanwhile move the end away from under it, which is not a person's doing.
      if (scrollTop + clientHeight >= scrollHeight - 4) this.follows = true;
      else if (scrollTop < this.top) this.follows = false;
      this.top = scrollTop;
      this.schedule();
    }, { passive: true });
    this.sizes = new ResizeObserver((entries) => this.measured(entries));
    new ResizeObserver(() => this.schedule()).observe(this.element);
  }

  append(item) {
    this.items.push(item);
    this.heights.push(GUESS);
    this.schedule();
    return this.items.length - 1;
  }

  // The item of this index reads otherwise now.
  changed(index) {
    const old = this.shown.get(index);
    if (!old) return;
    const element = this.make(index);
    old.replaceWith(element);
    this.sizes.unobserve(old);
    this.schedule();
  }

  toEnd() {
    this.follows = true;
    this.schedule();
  }

  // One update a frame, however many items came.
  schedule() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.update();
    });
  }

  measured(entries) {
    let grown = false;
    for (const { target } of entries) {
      const index = Number(target.dataset.index);
      const height = target.getBoundingClientRect().height;
      if (!target.isConnected || height === 0 || this.heights[index] === height) continue;
      this.heights[index] = height;
      grown = true;
    }
    if (grown) this.schedule();
  }

  make(index) {
    const element = this.render(this.items[index]);
    element.dataset.index = index;
    element.classList.add("windowed-item");
    this.shown.set(index, element);
    this.sizes.observe(element);
    return element;
  }

  update() {
    const total = this.heights.reduce((sum, height) => sum + height, 0);
    const height = this.element.clientHeight;
    this.body.style.setProperty("height", `${total}px`);
    if (this.follows) {
      this.element.scrollTop = total;
      this.top = this.element.scrollTop;
    }
    const top = this.follows ? Math.max(0, total - height) : this.element.scrollTop;

    let first = 0, offset = 0;
    while (first < this.items.length && offset + this.heights[first] < top - MARGIN) offset += this.heights[first++];
    let last = first;
    for (let at = offset; last < this.items.length && at < top + height + MARGIN; ++last) at += this.heights[last];

    for (const [index, element] of this.shown) {
      if (index >= first && index < last) continue;
      this.sizes.unobserve(element);
      element.remove();
      this.shown.delete(index);
    }
    for (let index = first, at = offset; index < last; at += this.heights[index++]) {
      const element = this.shown.get(index) ?? this.make(index);
      if (!element.isConnected) this.insert(element, index);
      element.style.setProperty("transform", `translateY(${at}px)`);
    }
  }

  // In the order of the items, which is the order in which a screen reader and Tab go.
  insert(element, index) {
    let next = null;
    for (const child of this.body.children) {
      if (Number(child.dataset.index) > index) {
        next = child;
        break;
      }
    }
    this.body.insertBefore(element, next);
  }
}
