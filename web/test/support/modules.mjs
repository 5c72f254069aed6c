// Modules of the page for node, compiled on the way.
import { build } from "esbuild";
import { fileURLToPath } from "node:url";
import { withLessons } from "../../build.mjs";

export const compiled = async (...names) => {
  const contents = names.map((name) => `export * from "./${name}";`).join("\n");
  const resolveDir = fileURLToPath(new URL("../../src", import.meta.url));
  const { outputFiles } = await build({ stdin: { contents, resolveDir }, bundle: true, format: "esm", write: false, plugins: [withLessons] });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
};
