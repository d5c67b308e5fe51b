// fauxqs, an SQS of somebody else's making, on a free port of 127.0.0.1.
import { buildApp } from "fauxqs";

const app = buildApp({ logger: false });
await app.listen({ port: 0, host: "127.0.0.1" });
console.log(`listening 127.0.0.1:${app.server.address().port}`);
