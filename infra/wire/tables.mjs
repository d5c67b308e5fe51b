// Azurite's Table storage on a free port of 127.0.0.1, in memory, in this process.
import { createServer } from "node:net";
import { createRequire } from "node:module";

const free = () => new Promise((resolve, reject) => {
  const s = createServer();
  s.on("error", reject);
  s.listen(0, "127.0.0.1", () => { const { port } = s.address(); s.close(() => resolve(port)); });
});

const port = await free();
process.argv.push("--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--silent",
  "--tableHost", "127.0.0.1", "--tablePort", String(port));
const log = console.log;
console.log = (text) => { if (String(text).includes("successfully started")) log(`listening 127.0.0.1:${port}`); };
createRequire(import.meta.url)("azurite/dist/src/table/main.js");
