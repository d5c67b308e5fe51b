// dynalite, a DynamoDB of somebody else's making, on a free port of 127.0.0.1.
import { createRequire } from "node:module";

const server = createRequire(import.meta.url)("dynalite")({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 });
server.listen(0, "127.0.0.1", () => console.log(`listening 127.0.0.1:${server.address().port}`));
