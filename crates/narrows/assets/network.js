"use strict";
// The network as a moving picture: nodes, links, their rates, and what waits at ports.

/** bit/s as links have them. */
const rateText = (rate) => {
  const [scale, unit] = [[1e12, "Tb/s"], [1e9, "Gb/s"], [1e6, "Mb/s"], [1e3, "kb/s"]].find(([scale]) => rate >= scale) || [1, "b/s"];
  return `${number(rate / scale)} ${unit}`;
};

/** Where a port is drawn: near the beginning of its link. */
const portAt = ([x1, y1], [x2, y2]) => {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const share = Math.min(22 / length, 0.3);
  return [x1 + (x2 - x1) * share, y1 + (y2 - y1) * share];
};

const LINE = 13, NODE = 8, PORT = 9, MARGIN = 14;
/** The box of a text that is drawn at x, y. */
const boxOf = (text, x, y, align) => {
  const wide = widthOf(text) + 4;
  const left = align === "right" ? x - wide + 2 : align === "center" ? x - wide / 2 : x - 2;
  return { left, right: left + wide, top: y - LINE + 3, bottom: y + 3 };
};
const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
/** Whether a line crosses a box: some part of it is inside (Liang & Barsky). */
const crosses = ([[x1, y1], [x2, y2]], { left, right, top, bottom }) => {
  let [enter, leave] = [0, 1];
  for (const [delta, room] of [[x1 - x2, x1 - left], [x2 - x1, right - x1], [y1 - y2, y1 - top], [y2 - y1, bottom - y1]]) {
    if (delta === 0 && room < 0) return false;
    if (delta < 0) enter = Math.max(enter, room / delta);
    if (delta > 0) leave = Math.min(leave, room / delta);
  }
  return enter < leave;
};

const around = ([x, y], far) => ({ left: x - far, right: x + far, top: y - far, bottom: y + far });

/**
 * Puts each label at the first of its places that is free, or where it hides least; labels without room for them are left out.
 * A label is {text, color, places: [[x, y, align, index of the line that it stands on, if it does]…]}.
 */
const arrange = (labels, nodes, lines, [w, h]) => {
  const ports = lines.flatMap(([from, to]) => [portAt(from, to), portAt(to, from)]);
  const kept = [];
  for (const label of labels) {
    let best = [Infinity];
    for (const [x, y, align, own] of label.places) {
      const box = boxOf(label.text, x, y, align);
      if (box.left < 0 || box.right > w || box.top < 0 || box.bottom > h || kept.some((other) => overlap(other.box, box))) continue;
      if (nodes.some((node) => overlap(around(node, NODE), box))) continue;
      const cost = lines.filter((line, index) => index !== own && crosses(line, box)).length + ports.filter((port) => overlap(around(port, PORT), box)).length;
      if (cost < best[0]) best = [cost, { ...label, x, y, align, box }];
      if (cost === 0) break;
    }
    if (best[1]) kept.push(best[1]);
  }
  return kept;
};

/** Links in pairs of both directions: {ends, rate as text}. */
const cables = ({ links }) => {
  const found = new Map();
  links.forEach(([from, to, rate], link) => {
    const key = from < to ? `${from} ${to}` : `${to} ${from}`;
    const cable = found.get(key);
    if (cable) cable.rates.push(rate);
    else found.set(key, { ends: [from, to], rates: [rate] });
  });
  return [...found.values()].map(({ ends, rates }) => ({ ends, rate: [...new Set(rates)].map(rateText).join(", ") }));
};

/** How many cables between the same rows, of the same rate, have a label each; of more one has it for all. */
const LABELED = 3, TRIED = 16;

/** Lists by key. */
const apart = (list, keyOf) => {
  const lists = new Map();
  for (const each of list) lists.set(keyOf(each), [...(lists.get(keyOf(each)) || []), each]);
  return lists;
};

/** Names of nodes and rates of links, as far as there is room. */
const labelsOf = (fabric, at, [w, h]) => {
  const all = cables(fabric);
  const lines = all.map(({ ends: [from, to] }) => [at[from], at[to]]);
  const parts = (name) => name.split("/");
  const rows = apart(fabric.nodes.map((_, node) => node), (node) => fabric.row[node]);
  const names = [];
  for (const [row, nodes] of [...rows].sort((a, b) => b[0] - a[0])) {
    const across = nodes.map((node) => at[node][0]).sort((a, b) => a - b);
    const room = Math.min(...across.slice(1).map((x, index) => x - across[index]), w);
    // In full, or without the places that a node is in, or by the last of them if nodes differ in nothing else.
    const alike = new Set(nodes.map((node) => parts(fabric.nodes[node]).at(-1))).size === 1;
    const styles = [(name) => name, (name) => parts(name).slice(-2).join("/"), (name) => parts(name).at(alike ? -2 : -1) ?? name];
    const style = styles.find((style) => nodes.every((node) => widthOf(style(fabric.nodes[node])) + 6 < room));
    if (!style) continue;
    for (const node of nodes) {
      const [x, y] = at[node];
      const text = style(fabric.nodes[node]);
      const half = widthOf(text) / 2 + 3;
      // Names of hosts stand below them and inside the picture; those of switches where there is room.
      const places = row === 0 ? [[Math.min(Math.max(x, half), w - half), y + 18, "center"]] : [
        [x - 10, y - 10, "right"], [x + 10, y - 10, "left"], [x, y - 12, "center"], [x - 12, y + 4, "right"], [x + 12, y + 4, "left"],
        [x - 10, y + 18, "right"], [x + 10, y + 18, "left"], [x, y + 22, "center"],
      ];
      names.push({ text, color: fabric.hosts[node] ? "--soft" : "--ink", places });
    }
  }
  const rates = [];
  const level = ({ ends, rate }) => `${ends.map((node) => fabric.row[node]).sort((a, b) => a - b)} ${rate}`;
  for (const group of apart(all.map((cable, index) => ({ ...cable, index })), level).values()) {
    // On the line, or below it and its ports.
    const places = ({ ends: [from, to], index }) => [4, 4 + LINE + PORT / 2].flatMap((down) => [0.5, 0.4, 0.6, 0.3, 0.7].map((share) => {
      const [x, y] = [0, 1].map((axis) => at[from][axis] + share * (at[to][axis] - at[from][axis]));
      return [x, y + down, "center", index];
    }));
    const label = (cables) => ({ text: cables[0].rate, color: "--soft", places: cables.flatMap(places) });
    const every = Math.ceil(group.length / TRIED);
    if (group.length > LABELED) rates.push(label(group.filter((_, index) => index % every === 0)));
    else group.forEach((cable) => rates.push(label([cable])));
  }
  return arrange([...names, ...rates], at, lines, [w, h]);
};

/** The network with links and ports as they are now, and the slider that moves it. */
const network = (into, shared) => {
  const { fabric, frames, linkName, state, follow, setNow } = shared;
  const top = Math.max(...fabric.row, 1);
  const count = fabric.nodes.length;
  const place = (node, w, h) => [MARGIN + fabric.x[node] * (w - 2 * MARGIN), h - 30 - fabric.row[node] / top * (h - 62)];
  let ports = [];
  // Labels depend on the size alone.
  let arranged = { size: "" };
  const labels = (at, w, h) => {
    if (arranged.size !== `${w} ${h}`) arranged = { size: `${w} ${h}`, labels: labelsOf(fabric, at, [w, h]) };
    return arranged.labels;
  };
  const draw = (pen, w, h) => {
    const at = fabric.nodes.map((_, node) => place(node, w, h));
    const thin = count > 400;
    // Idle links first, busy ones above them.
    const order = fabric.links.map((_, link) => link).sort((a, b) => ports[a].use - ports[b].use);
    for (const link of order) {
      const [from, to] = fabric.links[link];
      const [[x1, y1], [x2, y2]] = [at[from], at[to]];
      const length = Math.hypot(x2 - x1, y2 - y1) || 1;
      const [sx, sy] = [-(y2 - y1) / length * 1.6, (x2 - x1) / length * 1.6];
      const { use, recorded } = ports[link];
      const unknown = frames && !recorded;
      const color = unknown ? css("--line") : use < 0.004 ? css("--idle") : rgb(FLAME(use));
      pen.line(x1 + sx, y1 + sy, x2 + sx, y2 + sy, color, thin || unknown ? 0.7 : use > 0.02 ? 2 : 1);
    }
    // Labels hide lines, but not what happens at ports.
    const named = labels(at, w, h);
    for (const { box } of named) pen.rect(box.left, box.top, box.right - box.left, box.bottom - box.top, css("--paper"));
    for (let node = 0; node < count; node += 1) {
      const [x, y] = at[node];
      if (fabric.hosts[node]) pen.rect(x - (thin ? 1.5 : 3), y - (thin ? 1.5 : 3), thin ? 3 : 6, thin ? 3 : 6, css("--soft"));
      else pen.circle(x, y, thin ? 3 : 6, css("--paper"), css("--ink"));
    }
    fabric.links.forEach(([from, to], link) => {
      const { queue, paused, isolated, drops } = ports[link];
      if (!(queue > 0.003) && !paused && !drops) return;
      const [x, y] = portAt(at[from], at[to]);
      const radius = 2 + 9 * Math.sqrt(queue);
      if (queue > 0.003) pen.circle(x, y, radius, rgb(HEAT(queue)), isolated ? ISOLATED : css("--ink"), isolated ? 2.5 : 0.7);
      if (paused) pen.circle(x, y, radius + 3.5, null, STOPPED, 1 + 2 * paused);
      if (drops) {
        pen.line(x - 5, y - 5, x + 5, y + 5, DROPPED, 2.2);
        pen.line(x - 5, y + 5, x + 5, y - 5, DROPPED, 2.2);
      }
    });
    for (const { text, color, x, y, align } of named) pen.text(text, x, y, css(color), align, css("--paper"));
  };
  const picture = drawing("Network", `${count} nodes, hosts below. The line under the picture says what is seen.`, (w) => Math.max(240, Math.min(430, w * 0.42)), draw);
  const sentence = (link) => {
    const { use, bytes, paused, isolated, drops, marks, recorded } = ports[link];
    const facts = [`${percent(use)} of ${rateText(fabric.links[link][2])} used`, `${kB(bytes)} waited at the most`];
    if (marks) facts.push(`${packets(marks, true)} marked`);
    if (paused) facts.push(`stopped for ${percent(paused)}`);
    if (isolated) facts.push(`${kB(isolated)} of isolated flows`);
    if (drops) facts.push(`${packets(drops, Boolean(frames))} dropped`);
    return `${linkName(link)}: ${frames && !recorded ? "not recorded" : facts.join(", ")}`;
  };
  const readout = element("p", { class: "readout", "aria-live": "polite" });
  const say = () => {
    const order = ports.map((port, link) => [port.bytes, link]).sort((a, b) => b[0] - a[0]);
    const sum = (value) => ports.filter((port) => value(port)).length;
    const [stopped, isolating, dropping] = [sum((port) => port.paused > 0), sum((port) => port.isolated > 0), sum((port) => port.drops > 0)];
    const facts = [order[0]?.[0] ? `deepest ${sentence(order[0][1])}` : "no queues"];
    if (stopped) facts.push(`${counted(stopped, "port")} stopped`);
    if (isolating) facts.push(`${counted(isolating, "port")} with isolated flows`);
    if (dropping) facts.push(`${counted(dropping, "port")} with drops`);
    readout.textContent = `${frames ? `at ${ms(state.now)}` : "whole run"}: ${facts.join(" · ")}`;
  };
  picture.canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => {
    const [w, h] = [picture.place.clientWidth, parseFloat(picture.canvas.style.height)];
    let best = [10, -1];
    fabric.links.forEach(([from, to], link) => {
      const [[x1, y1], [x2, y2]] = [place(from, w, h), place(to, w, h)];
      // The half nearer to its beginning stands for each direction.
      const along = ((offsetX - x1) * (x2 - x1) + (offsetY - y1) * (y2 - y1)) / ((x2 - x1) ** 2 + (y2 - y1) ** 2 || 1);
      if (along < -0.05 || along > 0.5) return;
      const far = Math.hypot(x1 + along * (x2 - x1) - offsetX, y1 + along * (y2 - y1) - offsetY);
      if (far < best[0]) best = [far, link];
    });
    if (best[1] >= 0) readout.textContent = sentence(best[1]);
    else say();
  });
  picture.canvas.addEventListener("pointerleave", say);
  const step = frames?.length_ms ?? 1;
  const slider = element("input", {
    type: "range", min: 0, max: (frames?.count ?? 1) - 1, step: 1, value: 0, "aria-label": "Time",
    oninput: () => setNow((Number(slider.value) + 0.5) * step),
  });
  const clock = element("output", {}, "");
  let playing = 0;
  const play = element("button", { type: "button", "aria-pressed": "false", onclick: () => (playing ? stop() : start()) }, "▶ Play");
  const speed = element("select", { "aria-label": "Frames per second" }, ...[5, 15, 30, 60, 240].map((each) => element("option", each === 30 ? { value: each, selected: "" } : { value: each }, `${each} frames/s`)));
  const stop = () => {
    cancelAnimationFrame(playing);
    playing = 0;
    play.textContent = "▶ Play";
    play.setAttribute("aria-pressed", "false");
    readout.setAttribute("aria-live", "polite");
  };
  const start = () => {
    if (state.now >= state.view[1] - step) setNow(state.view[0]);
    play.textContent = "❚❚ Pause";
    play.setAttribute("aria-pressed", "true");
    readout.setAttribute("aria-live", "off");
    let last = performance.now();
    const tick = (at) => {
      if (!play.isConnected) return;
      const steps = Math.floor((at - last) / 1000 * Number(speed.value));
      if (steps > 0) {
        last = at;
        setNow(state.now + steps * step);
      }
      if (state.now >= state.view[1] - step / 2) stop();
      else playing = requestAnimationFrame(tick);
    };
    playing = requestAnimationFrame(tick);
  };
  follow.push(() => {
    ports = portsAt(shared);
    slider.value = frames ? Math.min(frames.count - 1, Math.floor(state.now / step)) : 0;
    slider.setAttribute("aria-valuetext", ms(state.now));
    clock.textContent = ms(state.now);
    say();
    picture.redraw();
  });
  ports = portsAt(shared);
  const deepest = element("button", { type: "button", onclick: () => setNow(worst(shared)) }, "Peak queue");
  const swatch = (style, text) => element("li", {}, element("i", { style }), text);
  const gradient = (name, of) => swatch(`background: linear-gradient(90deg, ${[0, 0.33, 0.66, 1].map((share) => rgb(of(share))).join()})`, name);
  const most = frames ? frames.most_bytes : Math.max(...fabric.deepest, 1);
  into.append(
    element("h3", {}, "The network"),
    element("p", { class: "soft caption" }, frames
      ? `Each frame is ${ms(frames.length_ms)}${frames.intervals > 1 ? ` (${frames.intervals} recorded intervals; of queues the deepest counts)` : ""}. ${frames.links.length} of ${fabric.links.length} ports were recorded; links of the others are thin.`
      : "The whole run: utilization of links, and the peak queue of each port."),
    ...(frames ? [element("div", { class: "tools" }, play, slider, clock, speed, deepest)] : []),
    picture.place, readout,
    element("ul", { class: "key" }, gradient("link: 0 to 100 % used", FLAME), gradient(`port: 0 to ${kB(most)} waiting`, HEAT),
      swatch(`border: 2px solid ${STOPPED}; height: 7px; width: 7px; border-radius: 9px`, "stopped"), swatch(`border: 2px solid ${ISOLATED}; height: 7px; width: 7px; border-radius: 9px`, "holds isolated flows"),
      element("li", {}, element("b", { style: `color: ${DROPPED}` }, "✕ "), "drops")),
    picture.saves(),
  );
};

