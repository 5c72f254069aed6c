"use strict";
// Looks at a page as it is drawn and writes down what is cut off, covered or hard to see. Comes before anything else runs.
window.layout = (() => {
  // What is drawn on each canvas since it was cleared, in order.
  const drawn = new WeakMap();
  const on = (canvas) => {
    if (!drawn.has(canvas)) drawn.set(canvas, { texts: [], lines: [], rects: [], order: 0 });
    return drawn.get(canvas);
  };
  const pen = CanvasRenderingContext2D.prototype;
  const before = (name, note) => {
    const own = pen[name];
    pen[name] = function draw(...values) { note(this, ...values); return own.apply(this, values); };
  };
  const corners = (ctx, left, top, right, bottom) => {
    const { a, b, c, d, e, f } = ctx.getTransform();
    const points = [[left, top], [right, top], [left, bottom], [right, bottom]].map(([x, y]) => [a * x + c * y + e, b * x + d * y + f]);
    const [xs, ys] = [0, 1].map((axis) => points.map((point) => point[axis]));
    return { left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) };
  };
  const paths = new WeakMap();
  const place = (ctx, x, y) => { const { left, top } = corners(ctx, x, y, x, y); return [left, top]; };
  before("clearRect", ({ canvas }) => drawn.delete(canvas));
  before("fillText", (ctx, text, x, y) => {
    if (!String(text).trim()) return;
    const of = on(ctx.canvas);
    const { actualBoundingBoxLeft: l, actualBoundingBoxRight: r, actualBoundingBoxAscent: u, actualBoundingBoxDescent: d } = ctx.measureText(text);
    of.texts.push({ text, color: ctx.fillStyle, order: of.order += 1, ...corners(ctx, x - l, y - u, x + r, y + d) });
  });
  before("fillRect", (ctx, x, y, w, h) => {
    const of = on(ctx.canvas);
    of.rects.push({ order: of.order += 1, ...corners(ctx, x, y, x + w, y + h) });
  });
  before("beginPath", (ctx) => paths.set(ctx, []));
  before("moveTo", (ctx, x, y) => paths.get(ctx)?.push([place(ctx, x, y)]));
  before("lineTo", (ctx, x, y) => paths.get(ctx)?.at(-1)?.push(place(ctx, x, y)));
  before("stroke", (ctx) => {
    const of = on(ctx.canvas);
    for (const path of paths.get(ctx) || []) path.slice(1).forEach((to, index) => of.lines.push({ order: of.order += 1, from: path[index], to }));
  });

  const SLACK = 1;
  const HALF_A_LINE = 8;
  const overlap = (a, b) => a.left < b.right - SLACK && b.left < a.right - SLACK && a.top < b.bottom - SLACK && b.top < a.bottom - SLACK;
  const inside = (a, b) => a.left >= b.left - SLACK && a.right <= b.right + SLACK && a.top >= b.top - SLACK && a.bottom <= b.bottom + SLACK;
  /** Marks at ports are shorter. */
  const isLink = ({ from, to }) => Math.hypot(to[0] - from[0], to[1] - from[1]) > 20;
  /** Some point of the line is in the box. */
  const crosses = ({ from, to }, box) => {
    for (let share = 0; share <= 1; share += 1 / 256) {
      const [x, y] = [0, 1].map((axis) => from[axis] + share * (to[axis] - from[axis]));
      if (x > box.left + SLACK && x < box.right - SLACK && y > box.top + SLACK && y < box.bottom - SLACK) return true;
    }
    return false;
  };

  const parts = (color) => {
    const hex = /^#(..)(..)(..)/.exec(color);
    const [r, g, b, a = 1] = hex ? hex.slice(1).map((part) => parseInt(part, 16)) : (color.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
    return [r, g, b, a];
  };
  const luminance = (color) => {
    const [r, g, b] = parts(color).map((part) => { const share = part / 255; return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  /** WCAG 2.2 §1.4.3. */
  const contrast = (a, b) => { const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y); return (high + 0.05) / (low + 0.05); };
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if (parts(color)[3] > 0) return color;
    }
    return "rgb(255, 255, 255)";
  };

  const words = (text) => JSON.stringify(text.trim().slice(0, 50));
  const scrolls = (node) => ["auto", "scroll"].includes(getComputedStyle(node).overflowX);
  const clips = (node) => ["hidden", "clip"].includes(getComputedStyle(node).overflowX);

  /** Where the text in a node is drawn. */
  const drawnIn = (node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    return [...range.getClientRects()].filter(({ width, height }) => width > 0 && height > 0);
  };

  const texts = (wrong) => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode, parent = node.parentElement;
      if (!node.textContent.trim() || parent.closest("script, style, noscript, option")) continue;
      const rects = drawnIn(node);
      if (!rects.length) continue;
      if (contrast(getComputedStyle(parent).color, behind(parent)) < 3) wrong.push(`faint: ${words(node.textContent)}`);
      let limit = { left: 0, right: innerWidth, top: -Infinity, bottom: Infinity };
      const cell = parent.closest("td, th");
      for (let at = parent; at; at = at.parentElement) {
        if (at === cell || clips(at)) {
          const { left, right } = at.getBoundingClientRect();
          limit = { ...limit, left: Math.max(limit.left, left), right: Math.min(limit.right, right) };
        }
        // Whoever scrolls sees the rest; only the cell counts.
        if (scrolls(at) && at.scrollWidth > at.clientWidth) {
          const own = cell?.getBoundingClientRect();
          limit = { ...limit, left: own?.left ?? -Infinity, right: own?.right ?? Infinity };
          break;
        }
      }
      if (!rects.every((rect) => inside({ left: rect.left, right: rect.right, top: 0, bottom: 0 }, limit))) wrong.push(`cut off: ${words(node.textContent)}`);
    }
  };

  const boxes = (wrong) => {
    if (document.documentElement.scrollWidth > innerWidth) wrong.push(`the page is ${document.documentElement.scrollWidth - innerWidth} px wider than its window`);
    for (const node of document.querySelectorAll("button, select, input, canvas, img, svg, .scroll, pre")) {
      const { left, right, width } = node.getBoundingClientRect();
      if (width > 0 && (left < -SLACK || right > innerWidth + SLACK) && !node.parentElement.closest(".scroll")) wrong.push(`outside: ${node.tagName} ${words(node.getAttribute("aria-label") || node.textContent)}`);
    }
    for (const table of document.querySelectorAll("table.cards")) {
      const place = table.closest(".scroll") || table.parentElement;
      if (place.scrollWidth > place.clientWidth + SLACK) wrong.push(`scrolls: the table ${words(place.getAttribute("aria-label") || table.textContent)}`);
    }
  };

  /** Numbers of a row begin or end on one line, and have as many lines one below the other. */
  const rows = (wrong) => {
    const ends = (cell) => {
      const rects = drawnIn(cell);
      return [Math.min(...rects.map(({ top }) => top)), Math.max(...rects.map(({ bottom }) => bottom))];
    };
    for (const row of document.querySelectorAll("tbody tr")) {
      const cells = [...row.querySelectorAll("td:not(:first-child):not(.text)")].filter((cell) => cell.textContent.trim());
      const beside = new Set(cells.map((cell) => cell.getBoundingClientRect().top)).size === 1;
      const found = cells.map(ends), breaks = new Set(cells.map((cell) => cell.querySelectorAll("br").length));
      const spread = (end) => Math.max(...found.map((ends) => ends[end])) - Math.min(...found.map((ends) => ends[end]));
      if (beside && (Math.min(spread(0), spread(1)) > HALF_A_LINE || breaks.size > 1)) wrong.push(`uneven: the row ${words(row.textContent)}`);
    }
  };

  const canvases = (wrong) => {
    const paper = getComputedStyle(document.documentElement).backgroundColor;
    for (const canvas of document.querySelectorAll("canvas")) {
      const found = drawn.get(canvas);
      if (!found) continue;
      const page = { left: 0, right: canvas.width, top: 0, bottom: canvas.height };
      const name = canvas.closest("[aria-label]")?.getAttribute("aria-label").split(".")[0] ?? "a canvas";
      found.texts.forEach((text, index) => {
        if (!inside(text, page)) wrong.push(`cut off in ${name}: ${words(text.text)}`);
        if (contrast(text.color, paper) < 3) wrong.push(`faint in ${name}: ${words(text.text)}`);
        for (const other of found.texts.slice(index + 1)) if (overlap(text, other)) wrong.push(`overlap in ${name}: ${words(text.text)} and ${words(other.text)}`);
        if (name !== "Network") return;
        const hidden = (line) => found.rects.some((rect) => rect.order > line.order && rect.order < text.order && inside(text, rect));
        if (found.lines.some((line) => isLink(line) && crosses(line, text) && !hidden(line))) wrong.push(`crossed in ${name}: ${words(text.text)}`);
      });
    }
  };

  const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));
  const look = async () => {
    // Reports say when they have drawn what was recorded.
    for (let turn = 0; turn < 200 && typeof overTime !== "undefined" && !document.body.dataset.drawn; turn += 1) await pause(20);
    const found = { frame: window.name, wrong: [], labels: [] };
    try {
      for (const theme of ["light", "dark"]) {
        setTheme(theme);
        await pause(250);
        const wrong = [];
        [texts, boxes, rows, canvases].forEach((check) => check(wrong));
        found.wrong.push(...new Set(wrong.map((what) => `${theme}: ${what}`)));
      }
      const network = document.querySelector("canvas[aria-label^=Network]");
      if (network) found.labels = drawn.get(network).texts.map(({ text }) => text);
    } catch (error) {
      found.wrong.push(`the check: ${error.stack}`);
    }
    const bytes = new TextEncoder().encode(JSON.stringify(found));
    console.log(`FOUND ${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`);
  };
  addEventListener("load", look);
  return { look };
})();
