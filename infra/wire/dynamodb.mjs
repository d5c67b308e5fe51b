// dynalite, a DynamoDB of somebody else's making, on a free port of 127.0.0.1.
import { createRequire } from "node:module";

// A client that is killed in the middle of a request makes dynalite throw where nobody catches: a server that
// lives for many clients must not end with one of them.
process.on("uncaughtException", (err) => console.error("dynalite:", err.message));

const server = createRequire(import.meta.url)("dynalite")({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 });
server.on("clientError", (_, socket) => socket.destroy());
server.listen(0, "127.0.0.1", () => console.log(`listening 127.0.0.1:${server.address().port}`));
