"use strict";
// What was recorded over time: the network as a moving picture, ports over time, flows.

/** Arrays of a run: `get(array)` of what Rust calls an Array. */
const unpack = async (text) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const buffer = await new Response(stream).arrayBuffer();
  const kinds = { Uint8Array, Uint16Array, Float32Array, Float64Array };
  return ({ kind, at, length }) => new kinds[kind](buffer, at, length);
};

const FONT = "11px system-ui";
/** How wide a text is that a pen writes. */
const widthOf = (() => {
  const ctx = document.createElement("canvas").getContext("2d");
  return (text) => { ctx.font = FONT; return ctx.measureText(text).width; };
})();

/** Draws on a canvas or writes SVG: the few shapes that both know. */
const canvasPen = (ctx) => ({
  rect: (x, y, w, h, fill) => { ctx.fillStyle = fill; ctx.fillRect(x, y, w, h); },
  line: (x1, y1, x2, y2, stroke, width = 1) => {
    Object.assign(ctx, { strokeStyle: stroke, lineWidth: width });
    ctx.beginPath(); ctx.moveTo(x1, y1); ctx.lineTo(x2, y2); ctx.stroke();
  },
  circle: (x, y, r, fill, stroke, width = 1.5) => {
    ctx.beginPath(); ctx.arc(x, y, r, 0, 7);
    if (fill) { ctx.fillStyle = fill; ctx.fill(); }
    if (stroke) { Object.assign(ctx, { strokeStyle: stroke, lineWidth: width }); ctx.stroke(); }
  },
  text: (text, x, y, fill, align = "left", around) => {
    Object.assign(ctx, { fillStyle: fill, textAlign: align, font: FONT });
    if (around) {
      Object.assign(ctx, { strokeStyle: around, lineWidth: 2.5, lineJoin: "round" });
      ctx.strokeText(text, x, y);
    }
    ctx.fillText(text, x, y);
  },
  image: (image, x, y, w, h) => { ctx.imageSmoothingEnabled = false; ctx.drawImage(image, x, y, w, h); },
});
const svgPen = () => {
  const parts = [];
  const f = (value) => value.toFixed(1);
  const anchors = { left: "start", right: "end", center: "middle" };
  return {
    parts,
    rect: (x, y, w, h, fill) => parts.push(`<rect x="${f(x)}" y="${f(y)}" width="${f(w)}" height="${f(h)}" fill="${fill}"/>`),
    line: (x1, y1, x2, y2, stroke, width = 1) =>
      parts.push(`<path d="M${f(x1)},${f(y1)}L${f(x2)},${f(y2)}" stroke="${stroke}" stroke-width="${width}"/>`),
    circle: (x, y, r, fill, stroke, width = 1.5) =>
      parts.push(`<circle cx="${f(x)}" cy="${f(y)}" r="${f(r)}" fill="${fill || "none"}" stroke="${stroke || "none"}" stroke-width="${width}"/>`),
    text: (text, x, y, fill, align = "left", around) => {
      const halo = around ? ` stroke="${around}" stroke-width="2.5" stroke-linejoin="round" paint-order="stroke"` : "";
      parts.push(`<text x="${f(x)}" y="${f(y)}" fill="${fill}" text-anchor="${anchors[align]}"${halo}>${escapeXml(text)}</text>`);
    },
    image: (image, x, y, w, h) =>
      parts.push(`<image x="${f(x)}" y="${f(y)}" width="${f(w)}" height="${f(h)}" preserveAspectRatio="none" style="image-rendering:pixelated" href="${image.toDataURL()}"/>`),
  };
};

/** A canvas as wide as its place that is drawn by `draw(pen, width, height)`, again whenever that is needed. */
const drawing = (title, description, height, draw) => {
  const canvas = element("canvas", { class: "drawn", role: "img", tabindex: "0", "aria-label": `${title}. ${description}` });
  const place = element("div", {}, canvas);
  const sizes = () => [place.clientWidth || 600, typeof height === "function" ? height(place.clientWidth || 600) : height];
  let due = 0;
  const paint = () => {
    due = 0;
    const [w, h] = sizes();
    const ratio = devicePixelRatio || 1;
    const [wide, tall] = [Math.round(w * ratio), Math.round(h * ratio)];
    if (canvas.width !== wide || canvas.height !== tall) Object.assign(canvas, { width: wide, height: tall });
    canvas.style.height = `${h}px`;
    const ctx = canvas.getContext("2d");
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, w, h);
    draw(canvasPen(ctx), w, h);
  };
  const redraw = () => { due = due || requestAnimationFrame(paint); };
  redraws.add(redraw);
  const watch = new ResizeObserver(() => {
    if (place.isConnected) redraw();
    else { watch.disconnect(); redraws.delete(redraw); }
  });
  watch.observe(place);
  const svg = () => {
    const [w, h] = sizes();
    const pen = svgPen();
    draw(pen, w, h);
    return svgPage(w, h, pen.parts.join(""));
  };
  return { place, canvas, redraw, svg, saves: (more = {}) => saves(title, { svg: ["image/svg+xml", svg], png: ["image/png", () => png(canvas)], ...more }) };
};

const mix = (a, b, share) => `rgb(${a.map((part, index) => Math.round(part + (b[index] - part) * share)).join()})`;
const ramp = (stops) => (share) => {
  const place = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const below = Math.min(Math.floor(place), stops.length - 2);
  return stops[below].map((part, index) => part + (stops[below + 1][index] - part) * (place - below));
};
// Dark to bright, even in lightness (after viridis), so that it reads in gray as well; from paper at zero.
const HEAT = ramp([[59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]]);
const FLAME = ramp([[150, 165, 185], [86, 160, 211], [240, 180, 40], [210, 40, 30]]);
const rgb = (parts) => `rgb(${parts.map(Math.round).join()})`;
const STOPPED = "#e0691a", ISOLATED = "#3b8ee0", DROPPED = "#d3202f", MARKED = "#b87f00";

const kB = (bytes) => `${number(bytes / 1e3, 3)} kB`;
const ms = (time) => `${Number(time.toFixed(time < 10 ? 4 : 3))} ms`;
/** How many packets a cell counts; frames count no further than 255. */
const packets = (count, capped) => (capped && count === 255 ? `${count} packets or more` : counted(count, "packet"));
const percent = (share) => `${number(100 * share, 3)} %`;

/** Everything over time of one run, put into `into`. Returns how to jump to some moment, and what a flow may have met. */
const overTime = async (into, run) => {
  const { fabric, frames, queues, flows, states, ended_ms, measured_ms } = run;
  let get;
  try {
    get = await unpack(run.packed);
  } catch (error) {
    into.append(element("p", { class: "notes" }, `This browser cannot unpack the recorded data (${error.message}); any of 2023 or later can.`));
    return undefined;
  }
  const linkName = (link) => `${fabric.nodes[fabric.links[link][0]]}→${fabric.nodes[fabric.links[link][1]]}`;
  // What all pictures below share: the moment, and the part of the time that is shown.
  const whole = [0, ended_ms];
  const state = { now: 0, view: measured_ms };
  const follow = [], zooms = [];
  const setNow = (now) => {
    state.now = Math.min(Math.max(0, now), ended_ms);
    follow.forEach((tell) => tell());
  };
  const setView = (view) => {
    state.view = view || whole;
    zooms.forEach((tell) => tell());
  };
  const shared = { run, get, fabric, frames, linkName, state, follow, zooms, setNow, setView };
  if (frames || flows.length || states.length) into.append(timeChoice(shared, measured_ms, whole));
  network(into, shared);
  if (frames) heatMap(into, shared);
  const grid = element("div", { class: "grid" });
  into.append(grid);
  curves(grid, shared, queues, flows, states);
  if (!frames && !flows.length && !states.length) {
    into.append(element("p", { class: "soft" }, "Nothing was recorded over time, so the picture shows the whole run. Add [record] with queues, links or windows to the scenario."));
  }
  setView(measured_ms);
  setNow(frames ? worst(shared) : 0);
  const jump = (from, until) => {
    const around = Math.max((until - from) * 0.2, frames?.length_ms ?? 0);
    setView([Math.max(0, from - around), Math.min(ended_ms, until + around)]);
    setNow(from);
    into.scrollIntoView();
  };
  return { jump, met: (flow) => met(shared, flow) };
};

/** Buttons for what of the time is shown. */
const timeChoice = ({ setView }, measured, whole) => {
  const span = ([from, until]) => `${ms(from)} to ${ms(until)}`;
  const button = (name, view) => element("button", { type: "button", onclick: () => setView(view) }, `${name}, ${span(view)}`);
  const same = whole.every((end, index) => Math.abs(end - measured[index]) < whole[1] * 1e-6);
  return element("div", { class: "tools" }, "Time axes: ", ...(same ? [] : [button("measured time", measured)]), button("all of the run", whole));
};

/** When the peak queue was at its deepest in the time that is shown. */
const worst = ({ frames, get, state: { view: [from, until] } }) => {
  const queue = get(frames.queue);
  let [at, most] = [from, -1];
  for (let cell = 0; cell < queue.length; cell += 1) {
    const time = ((cell % frames.count) + 0.5) * frames.length_ms;
    if (queue[cell] > most && time >= from && time <= until) [at, most] = [time, queue[cell]];
  }
  return at;
};

/** Links on shortest ways from one node to another. */
const ways = ({ links, hosts }, from, to) => {
  const into = hosts.map(() => []), out = hosts.map(() => []);
  links.forEach(([a, b], link) => { out[a].push(link); into[b].push(link); });
  const far = hosts.map(() => Infinity);
  far[to] = 0;
  for (let reached = [to]; reached.length;) {
    const next = [];
    for (const node of reached) {
      if (hosts[node] && node !== to) continue;
      for (const link of into[node]) {
        const [before] = links[link];
        if (far[before] === Infinity) { far[before] = far[node] + 1; next.push(before); }
      }
    }
    reached = next;
  }
  const found = new Set(), nodes = new Set([from]);
  for (const node of nodes) {
    for (const link of out[node]) {
      if (far[links[link][1]] === far[node] - 1) { found.add(link); nodes.add(links[link][1]); }
    }
  }
  return found;
};

/** The peak queue that a flow may have met on recorded ports, and the longest time in all that one was stopped; or nothing. */
const met = ({ fabric, frames, get, linkName }, { src, dst, start_ms, fct_us }) => {
  if (!frames) return undefined;
  const way = ways(fabric, fabric.nodes.indexOf(src), fabric.nodes.indexOf(dst));
  const [queue, paused] = [get(frames.queue), get(frames.paused)];
  const first = Math.floor(start_ms / frames.length_ms);
  const last = Math.min(frames.count - 1, Math.floor((start_ms + fct_us / 1e3) / frames.length_ms));
  let [deepest, stopped] = [[0, ""], [0, ""]];
  let recorded = false;
  frames.links.forEach((link, number) => {
    if (!way.has(link)) return;
    recorded = true;
    let [most, sum] = [0, 0];
    for (let cell = number * frames.count + first; cell <= number * frames.count + last; cell += 1) {
      most = Math.max(most, queue[cell]);
      sum += paused[cell];
    }
    if (most > deepest[0]) deepest = [most, linkName(link)];
    if (sum > stopped[0]) stopped = [sum, linkName(link)];
  });
  if (!recorded) return undefined;
  return {
    queue: deepest[0] ? `${kB(deepest[0] / 65535 * frames.most_bytes)} at ${deepest[1]}` : "none",
    stopped: stopped[0] ? `${number(stopped[0] / 250 * frames.length_ms * 1e3, 3)} µs at ${stopped[1]}` : "",
  };
};

/** What each recorded link does in a frame, or did in the whole run where nothing was recorded. */
const portsAt = ({ fabric, frames, get, state }) => {
  const whole = Math.max(...fabric.deepest, 1);
  const links = fabric.links.map((_, link) => ({
    use: Math.min(fabric.utilization[link], 1), queue: fabric.deepest[link] / whole, bytes: fabric.deepest[link], drops: fabric.drops[link],
    paused: 0, isolated: 0, recorded: false,
  }));
  if (!frames) return links;
  links.forEach((port) => Object.assign(port, { use: 0, queue: 0, bytes: 0, drops: 0 }));
  const frame = Math.min(frames.count - 1, Math.floor(state.now / frames.length_ms));
  const [queue, use, paused, isolated, drops, marks] =
    [frames.queue, frames.utilization, frames.paused, frames.isolated, frames.drops, frames.marks].map(get);
  frames.links.forEach((link, number) => {
    const cell = number * frames.count + frame;
    links[link] = {
      // A packet counts where its sending begins, so that a short frame may have a little more than the link carries.
      use: Math.min(use[cell] / 250, 1), queue: queue[cell] / 65535, bytes: queue[cell] / 65535 * frames.most_bytes, drops: drops[cell],
      marks: marks[cell], paused: paused[cell] / 250, isolated: isolated[cell] / 255 * frames.most_bytes, recorded: true,
    };
  });
  return links;
};

const LEFT = 176, RIGHT = 20;
/** x of a time, and back, in drawings with names on their left. */
const scale = ({ view: [from, until] }, w) => {
  const left = Math.min(LEFT, w * 0.32);
  const wide = w - left - RIGHT;
  return { left, wide, x: (at) => left + (at - from) / (until - from) * wide, at: (x) => from + (x - left) / wide * (until - from) };
};
const timeAxis = (pen, { left, wide, x }, [from, until], y) => {
  const steps = Math.max(3, Math.floor(wide / 90));
  const raw = (until - from) / steps;
  const decade = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((each) => each * decade).find((each) => each >= raw);
  for (let at = Math.ceil(from / step) * step; at <= until + step * 1e-6; at += step) {
    pen.line(x(at), y, x(at), y + 4, css("--soft"));
    pen.text(String(Number(at.toPrecision(6))), x(at), y + 15, css("--soft"), "center");
  }
  pen.text("ms", left + wide, y + 27, css("--soft"), "right");
};
/** The name of a link without what both ends share. */
const brief = (name) => {
  const [from, to] = name.split("→");
  const prefix = from.slice(0, from.lastIndexOf("/") + 1);
  return prefix && to.startsWith(prefix) ? `${from}→${to.slice(prefix.length)}` : name;
};
const clip = (text, room) => (text.length * 6.2 > room ? `…${text.slice(-Math.max(3, Math.floor(room / 6.2) - 1))}` : text);

/** Lets a drawing over time choose the moment (click) and the part that is shown (drag, double click). */
const gestures = (picture, { state, setNow, setView }) => {
  let began = null;
  const at = (event) => scale(state, picture.place.clientWidth).at(event.offsetX);
  picture.canvas.addEventListener("pointerdown", (event) => { began = [event.offsetX, at(event)]; });
  picture.canvas.addEventListener("pointerup", (event) => {
    if (began === null) return;
    const [x, from] = began;
    began = null;
    if (Math.abs(event.offsetX - x) < 6) setNow(at(event));
    else setView([from, at(event)].sort((a, b) => a - b).map((time) => Math.min(Math.max(0, time), Number.MAX_VALUE)));
  });
  picture.canvas.addEventListener("dblclick", () => setView(null));
  picture.canvas.addEventListener("keydown", ({ key }) => {
    const [from, until] = state.view;
    if (key === "ArrowLeft") setNow(state.now - (until - from) / 100);
    else if (key === "ArrowRight") setNow(state.now + (until - from) / 100);
    else if (key === "+") setView([state.now - (until - from) / 4, state.now + (until - from) / 4].map((time, end) => (end ? time : Math.max(0, time))));
    else if (key === "-" || key === "Escape") setView(null);
  });
};

const SHOWN = 40, ROW = 15;
/** Ports over time: the most in each column of pixels counts. */
const heatMap = (into, shared) => {
  const { frames, get, linkName, state, follow, zooms } = shared;
  const queue = get(frames.queue);
  const { count } = frames;
  const peaks = frames.links.map((_, number) => {
    let peak = 0;
    for (let cell = number * count; cell < (number + 1) * count; cell += 1) peak = Math.max(peak, queue[cell]);
    return peak;
  });
  const ofPeaks = Float32Array.from(queue, (depth, cell) => depth / (peaks[Math.floor(cell / count)] || 1));
  const kinds = {
    "queue depth": [queue, 65535, (share) => kB(share * frames.most_bytes)],
    "queue depth, of each port's peak": [ofPeaks, 1, percent],
    "link utilization": [get(frames.utilization), 250, percent],
    "time stopped": [get(frames.paused), 250, percent],
    "marks": [get(frames.marks), 255, (share) => packets(Math.round(share * 255), true)],
    "drops": [get(frames.drops), 255, (share) => packets(Math.round(share * 255), true)],
    "isolated flows": [get(frames.isolated), 255, (share) => kB(share * frames.most_bytes)],
  };
  for (const name of Object.keys(kinds)) if (!kinds[name][0].some((value) => value > 0)) delete kinds[name];
  if (!Object.keys(kinds).length) return;
  const rows = frames.links.map((_, number) => number).sort((a, b) => peaks[b] - peaks[a] || a - b).slice(0, SHOWN);
  const choice = element("select", { "aria-label": "What is shown", onchange: () => picture.redraw() }, ...Object.keys(kinds).map((name) => element("option", {}, name)));
  const drops = get(frames.drops);
  const draw = (pen, w, h) => {
    const place = scale(state, w);
    const [values, most] = kinds[choice.value];
    const columns = Math.max(1, Math.round(place.wide));
    const image = document.createElement("canvas");
    Object.assign(image, { width: columns, height: rows.length });
    const ctx = image.getContext("2d");
    const pixels = ctx.createImageData(columns, rows.length);
    const [from, until] = state.view;
    const paper = isDark() ? [29, 35, 43] : [245, 247, 249];
    const frameAt = (column) => (from + column / columns * (until - from)) / frames.length_ms;
    rows.forEach((number, row) => {
      for (let column = 0; column < columns; column += 1) {
        const first = Math.max(0, Math.floor(frameAt(column)));
        const last = Math.min(count - 1, Math.max(first, Math.ceil(frameAt(column + 1)) - 1));
        let value = 0;
        for (let cell = number * count + first; cell <= number * count + last; cell += 1) value = Math.max(value, values[cell]);
        const color = value === 0 ? paper : HEAT(Math.sqrt(value / most));
        pixels.data.set([...color, 255], 4 * (row * columns + column));
      }
    });
    ctx.putImageData(pixels, 0, 0);
    pen.image(image, place.left, 4, place.wide, rows.length * ROW);
    rows.forEach((number, row) => pen.text(clip(brief(linkName(frames.links[number])), place.left - 8), place.left - 6, 4 + (row + 0.75) * ROW, css("--ink"), "right"));
    if (choice.value !== "drops") {
      rows.forEach((number, row) => {
        let last = -9;
        for (let frame = 0; frame < count; frame += 1) {
          const x = place.x((frame + 0.5) * frames.length_ms);
          if (!drops[number * count + frame] || x < place.left || x > place.left + place.wide || x - last < 3) continue;
          last = x;
          pen.line(x, 4 + (row + 0.7) * ROW, x, 4 + (row + 1) * ROW, DROPPED, 1.5);
        }
      });
    }
    const x = place.x(state.now);
    if (x >= place.left && x <= place.left + place.wide) pen.line(x, 0, x, 8 + rows.length * ROW, css("--ink"), 1);
    timeAxis(pen, place, state.view, 6 + rows.length * ROW);
  };
  const height = rows.length * ROW + 40;
  const picture = drawing("Ports over time", `The ${rows.length} deepest of ${frames.links.length} recorded ports, one row each.`, height, draw);
  const readout = element("p", { class: "readout" });
  picture.canvas.addEventListener("pointermove", (event) => {
    const at = scale(state, picture.place.clientWidth).at(event.offsetX);
    const row = Math.floor((event.offsetY - 4) / ROW);
    const frame = Math.floor(at / frames.length_ms);
    if (row < 0 || row >= rows.length || frame < 0 || frame >= count) return;
    const [values, most, show] = kinds[choice.value];
    const cell = rows[row] * count + frame;
    readout.textContent = `${linkName(frames.links[rows[row]])} at ${ms(frame * frames.length_ms)}: ${show(values[cell] / most)}${drops[cell] && choice.value !== "drops" ? `, ${packets(drops[cell], true)} dropped` : ""}`;
  });
  gestures(picture, shared);
  follow.push(picture.redraw);
  zooms.push(picture.redraw);
  const csv = () => {
    const [values, most] = kinds[choice.value];
    const unit = choice.value === "queue depth" || choice.value === "isolated flows" ? frames.most_bytes : choice.value === "marks" || choice.value === "drops" ? 255 : 1;
    const names = rows.map((number) => linkName(frames.links[number]));
    const lines = Array.from({ length: count }, (_, frame) => [frame * frames.length_ms, ...rows.map((number) => Number((values[number * count + frame] / most * unit).toPrecision(5)))]);
    return csvText([["start ms", ...names], ...lines]);
  };
  into.append(
    element("h3", { style: "margin-top: 22px" }, "Ports over time"),
    element("p", { class: "soft caption" }, `The ${rows.length} deepest of ${frames.links.length} recorded ports. Bright: deep queue (square root); red: drops. Click: this moment. Drag: zoom, everywhere. Double click: all.`),
    element("div", { class: "tools" }, choice),
    picture.place, readout, picture.saves({ csv: ["text/csv", csv] }),
  );
};

/** Peaks that differ by more than this are shown on a logarithmic axis. */
const UNEVEN = 8;
/** A flow has the color of its place among the flows of the run in every chart; beyond the colors there are, dashes. */
const lookOf = (place) => ({ color: place, dash: place >= LIGHT.length ? "dashed" : undefined });

/** Points of a queue, without those between two alike. */
const queuePoints = (most, slice_ms, of) => {
  const points = [];
  most.forEach((value, slice) => {
    const flat = slice > 0 && slice < most.length - 1 && most[slice - 1] === value && most[slice + 1] === value;
    if (!flat) points.push([slice * slice_ms, value / of]);
  });
  return points;
};

/** Curves of queues and flows; all keep to the part of the time that is shown. */
const curves = (grid, shared, queues, flows, states) => {
  const { get, linkName, state, follow, zooms, setView } = shared;
  const over = (title, caption, y, series, more = {}) => {
    const plot = chart(grid, { title, caption, x: "time in ms", y, series, ...more, zoomed: setView, vertical: () => [{ label: "", at: state.now }] });
    if (!plot) return;
    follow.push(() => plot.redraw(false, true));
    zooms.push(() => plot.setScale("x", { min: state.view[0], max: state.view[1] }));
  };
  // Ports of very different depth share a logarithmic axis: linear, the small ones would lie on its bottom.
  const peaks = queues.map(({ peak }) => peak / 1e3);
  const [top, least] = [Math.max(...peaks), Math.max(Math.min(...peaks), 1)];
  const uneven = top > UNEVEN * least;
  const [unit, of] = top >= 1e4 ? ["MB", 1e3] : ["kB", 1];
  // A packet or a tenth of the smallest peak; what is less lies at the bottom.
  const floor = Math.max(1, 10 ** (Math.floor(Math.log10(least)) - 1)) / of;
  const how = uneven ? `; logarithmic, with ${number(floor)} ${unit} and less at the bottom` : "";
  over("Queue depth", `the deepest recorded ports; the most that waited in each slice of time${how}`, `${unit} waiting`, queues.map((queue) => {
    const points = queuePoints(get(queue.most), queue.slice_ms, of);
    return { name: `${linkName(queue.link)} (peak ${kB(queue.peak)})`, points };
  }), { wide: true, ...(uneven && { yLog: true, floor }) });
  const kept = () => states.forEach((state) => {
    if (state.words.length) { words(grid, shared, state); return; }
    const series = state.flows.map((flow) => {
      const [at, values] = [get(flow.at), get(flow.values)];
      const shown = flows.findIndex((other) => other.name === flow.name);
      return { name: flow.name, ...(shown < 0 ? {} : lookOf(shown)), points: [...at].map((time, row) => [time, values[row]]) };
    });
    over(state.name.replace(/_(bytes|bps|ps)$/, ""), "kept by the congestion control; smallest and largest of each slice of time", state.unit || "no unit", series);
  });
  if (!flows.length) { kept(); return; }
  const each = flows.map((flow) => ({ ...flow, at: get(flow.at), window: get(flow.window), pacing: get(flow.pacing), rtt: get(flow.rtt), delivered: get(flow.delivered) }));
  const named = (flow) => `${flow.name} (${flow.why})`;
  const line = (take) => each.map((flow, place) => ({ name: named(flow), ...lookOf(place), points: [...flow.at].map((at, row) => [at, take(flow, row)]) }));
  over("Rate of flows", "payload acknowledged, from record to record", "Gb/s", each.map((flow, place) => {
    // Rates over at least a hundredth of what is there, so that single records do not look like bursts.
    const least = (flow.at.at(-1) - flow.at[0]) / 300;
    const points = [];
    let from = 0;
    for (let row = 1; row < flow.at.length; row += 1) {
      const time = flow.at[row] - flow.at[from];
      if (flow.delivered[row] < flow.delivered[from]) { from = row; continue; }
      if (time <= 0 || time < least) continue;
      points.push([flow.at[row], (flow.delivered[row] - flow.delivered[from]) * 8 / time / 1e6]);
      from = row;
    }
    return { name: named(flow), ...lookOf(place), points };
  }));
  over("Congestion window", "smallest and largest of each slice of time", "kB", line((flow, row) => flow.window[row]));
  over("Round-trip time", "smoothed, as the sender knows it", "µs", line((flow, row) => flow.rtt[row]));
  if (each.some((flow) => flow.pacing.some((rate) => rate > 0))) {
    over("Pacing rate", "of flows that are paced", "Gb/s", line((flow, row) => flow.pacing[row]).map((series) => ({ ...series, points: series.points.filter(([, rate]) => rate > 0) })));
  }
  kept();
  events(grid, shared, each);
};

/** Words that controls keep, such as modes: a row for each flow, colored by word. */
const words = (grid, shared, kept) => {
  const { get, state, follow, zooms, run } = shared;
  const rows = kept.flows.map((flow) => ({ name: flow.name, at: get(flow.at), word: get(flow.values) }));
  const tall = 18;
  const draw = (pen, w) => {
    const place = scale(state, w);
    const [first, last] = [place.left, place.left + place.wide];
    rows.forEach(({ name, at, word }, row) => {
      const y = 6 + row * tall;
      pen.text(clip(name, place.left - 12), place.left - 10, y + tall / 2, css("--ink"), "right");
      at.forEach((from, change) => {
        const x = Math.max(place.x(from), first);
        const until = Math.min(place.x(at[change + 1] ?? run.ended_ms), last);
        if (until > x) pen.rect(x, y, Math.max(until - x, 0.5), tall - 5, colorOf(word[change]));
      });
    });
    const x = place.x(state.now);
    if (x >= first && x <= last) pen.line(x, 0, x, 4 + rows.length * tall, css("--ink"), 1);
    timeAxis(pen, place, state.view, 6 + rows.length * tall);
  };
  const picture = drawing(kept.name, `${rows.length} flows; ${kept.words.join(", ")}.`, rows.length * tall + 40, draw);
  gestures(picture, shared);
  follow.push(picture.redraw);
  zooms.push(picture.redraw);
  const csv = () => csvText([["flow", "at ms", kept.name], ...rows.flatMap(({ name, at, word }) => [...at].map((time, change) => [name, time, kept.words[word[change]]]))]);
  grid.append(element("div", { class: "wide" },
    element("h3", {}, kept.name),
    element("p", { class: "soft caption" }, "kept by the congestion control of each flow"),
    element("ul", { class: "key" }, ...kept.words.map((word, index) => element("li", {}, element("i", { style: `background: ${colorOf(index)}` }), word))),
    picture.place, picture.saves({ csv: ["text/csv", csv] })));
};

const EVENTS = { "marks": MARKED, "switch messages": "#7a5195", "CNPs": "#0072b2", "losses": DROPPED, "timeouts": "" };
/** What happened to flows: a row each, a tick for each thing. */
const events = (grid, shared, flows) => {
  const { get, state, follow, zooms } = shared;
  const kinds = Object.keys(EVENTS).filter((kind) => flows.some((flow) => flow.ticks[kind]));
  const of = flows.map((flow) => Object.fromEntries(Object.entries(flow.ticks).map(([kind, array]) => [kind, get(array)])));
  const tall = 8 * kinds.length + 6;
  const color = (kind) => EVENTS[kind] || css("--ink");
  const draw = (pen, w) => {
    const place = scale(state, w);
    flows.forEach((flow, row) => {
      const y = 6 + row * tall;
      pen.rect(place.left, y, place.wide, tall - 4, isDark() ? "#1d232b" : "#f5f7f9");
      pen.rect(place.left - 5, y, 3, tall - 4, colorOf(row));
      pen.text(clip(flow.name, place.left - 12), place.left - 10, y + tall / 2 + 2, css("--ink"), "right");
      kinds.forEach((kind, lane) => (of[row][kind] || []).forEach((at) => {
        const x = place.x(at);
        if (x < place.left || x > place.left + place.wide) return;
        if (kind === "timeouts") pen.circle(x, y + 8 * lane + 5, 3, color(kind));
        else pen.line(x, y + 8 * lane + 1, x, y + 8 * lane + 8, color(kind), kind === "losses" ? 1.8 : 1);
      }));
    });
    const x = place.x(state.now);
    if (x >= place.left && x <= place.left + place.wide) pen.line(x, 0, x, 4 + flows.length * tall, css("--ink"), 1);
    timeAxis(pen, place, state.view, 6 + flows.length * tall);
  };
  if (!kinds.length) return;
  const picture = drawing("What happened to flows", `${flows.length} flows; ticks for ${kinds.join(", ")}.`, flows.length * tall + 40, draw);
  gestures(picture, shared);
  follow.push(picture.redraw);
  zooms.push(picture.redraw);
  const csv = () => csvText([["flow", "what", "at ms"], ...flows.flatMap((flow, row) => kinds.flatMap((kind) => [...(of[row][kind] || [])].map((at) => [flow.name, kind, at])))]);
  grid.append(element("div", { class: "wide" },
    element("h3", {}, "What happened to flows"),
    element("p", { class: "soft caption" }, `${kinds.join(", ")} as the sender learned of them, at most one tick in a two-thousandth of the run`),
    element("ul", { class: "key" }, ...kinds.map((kind) => element("li", {}, element("i", { style: `background: ${EVENTS[kind] || "currentColor"}; width: 4px` }), kind))),
    picture.place, picture.saves({ csv: ["text/csv", csv] })));
};
