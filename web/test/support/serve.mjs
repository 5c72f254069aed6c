// Serves the built page below a path of its own, as any static server would, and writes down what was asked for.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";

const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".txt": "text/plain" };

/** Returns the address of the page and how to end the server. */
export const serve = async (folder, below = "/some/where/") => {
  const requests = [];
  const server = createServer(async ({ url }, response) => {
    requests.push(url);
    const path = new URL(url, "http://x").pathname;
    const name = path === below ? "index.html" : normalize(path.replace(below, ""));
    try {
      if (!path.startsWith(below) || name.startsWith("..")) throw new Error("outside");
      const body = await readFile(join(folder, name));
      response.writeHead(200, { "content-type": TYPES[extname(name)] ?? "application/octet-stream" }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${server.address().port}${below}`, requests, end: () => server.close() };
};
