// A broker that speaks enough of Service Bus's AMQP for the unmodified SDK, on one free port of 127.0.0.1.
// The argument is JSON: {"now": <ms>, "queues": [...]}. Connections that begin with HTTP are the test's
// control channel; see control at the end. Time stands still unless the test moves it.
import { createServer } from "node:net";
import { createServer as createHTTP } from "node:http";
import rhea from "rhea";
import { Queue } from "./servicebus-queue.mjs";

const { types, message: codec } = rhea;
const SESSION_FILTER = "com.microsoft:session-filter";
const BATCH = 0x80013700;
const TICKS_AT_EPOCH = 621355968000000000;
const IDLE_LINK = 10 * 60e3; // an idle link is detached after so long
const IDLE_CONNECTION = 5 * 60e3; // and a connection without links closed after so much longer

let now, queues, sequence, faults, renewals;
const connections = new Set();
const links = new Set(); // everything attached: {link, kind, queue, session, sent, used}

const clock = () => now;

function reset(config) {
  now = config.now;
  queues = new Map();
  sequence = 0;
  faults = [];
  renewals = 0;
  for (const c of config.queues) {
    const q = new Queue(c, clock);
    queues.set(q.name.toLowerCase(), q);
    queues.set(q.dead.name.toLowerCase(), q.dead);
  }
}

// fault takes the next planned fault of that place, if there is one.
function fault(at, moment) {
  const f = faults.find((f) => f.at === at && (f.moment ?? "before") === moment && f.times !== 0);
  if (f) f.times = (f.times ?? 1) - 1;
  return f;
}

const problem = (f) => ({ condition: f.condition, description: f.description ?? "planned by the test" });

// fail carries a fault out where no refusal is asked for; true when the caller must not go on.
function fail(f, connection) {
  if (f.how === "cut") connection.socket.destroy();
  return f.how === "cut" || f.how === "silent";
}

// ---- links ----

function accept(link, source, target) {
  link.local.attach.snd_settle_mode = link.snd_settle_mode;
  link.local.attach.rcv_settle_mode = link.rcv_settle_mode;
  link.set_source(source);
  link.set_target(target);
}

// refuse answers an attach without source and target, which says that no link came about.
const refuse = (link, error) => link.close(error);

const notFound = (address) => ({ condition: "amqp:not-found", description: `The messaging entity '${address}' could not be found.` });

const endpoint = (address) => {
  if (address === "$cbs") return { kind: "cbs" };
  const owner = /^(.*)\/\$management$/i.exec(address);
  const queue = queues.get((owner ? owner[1] : address).toLowerCase());
  return queue && { kind: owner ? "management" : "queue", queue };
};

// attached is called for every link a client opens; address is the queue's.
function attached(link, address) {
  const e = endpoint(address);
  const planned = e && e.kind === "queue" && fault("attach", "before");
  if (planned && fail(planned, link.connection)) return undefined;
  if (planned) return void refuse(link, problem(planned));
  if (!e) return void refuse(link, notFound(address));
  const entry = { link, ...e, sent: 0, used: now };
  link.entry = entry;
  links.add(entry);
  return entry;
}

// A client's sender: requests to $cbs and $management, messages to a queue.
function onClientSender({ receiver }) {
  const { address } = receiver.target;
  if (!attached(receiver, address)) return;
  receiver.local.attach.max_message_size = 262144;
  accept(receiver, { address: receiver.source?.address ?? "" }, { address });
}

// A client's receiver: answers of $cbs and $management, or a queue's messages, perhaps of one session.
function onClientReceiver({ sender }) {
  const { address } = sender.source;
  const entry = attached(sender, address);
  if (!entry) return;
  const source = { address };
  if (entry.kind === "queue" && !holdSession(entry, sender, source)) return;
  accept(sender, source, { address: sender.target?.address ?? "" });
}

function holdSession(entry, sender, source) {
  const filter = sender.source.filter?.[SESSION_FILTER];
  const { queue } = entry;
  const session = filter?.value ?? filter;
  if (Boolean(queue.sessions) !== (session !== undefined)) {
    return forget(entry, { condition: "amqp:not-allowed", description: `${queue.name}: a session is needed where there are sessions, and nowhere else` });
  }
  if (session === undefined) return true;
  if (!queue.hold(session, sender)) {
    return forget(entry, { condition: "com.microsoft:session-cannot-be-locked", description: `The requested session '${session}' cannot be accepted.` });
  }
  entry.session = session;
  source.filter = { [SESSION_FILTER]: types.wrap_described(session, 0x137000000c) };
  const ticks = TICKS_AT_EPOCH + queue.sessions.get(session).until * 10000;
  sender.local.attach.properties = { "com.microsoft:locked-until-utc": types.wrap_long(ticks) };
  return true;
}

function forget(entry, error) {
  links.delete(entry);
  refuse(entry.link, error);
  return false;
}

function gone(entry) {
  if (!entry || !links.delete(entry)) return;
  if (entry.session !== undefined && entry.queue.sessions.get(entry.session)?.link === entry.link) {
    entry.queue.free(entry.session);
    pump();
  }
}

const detach = (entry, condition, description) => { gone(entry); entry.link.close({ condition, description }); };

// ---- messages from clients ----

function onMessage({ receiver, message, delivery, format }) {
  const { entry } = receiver;
  entry.used = now;
  if (entry.kind === "queue") return store(entry, message, delivery, format);
  delivery.accept();
  const reply = entry.kind === "cbs" ? putToken(message, receiver.connection) : manage(entry, message, receiver.connection);
  if (reply) answer(receiver.connection, message, reply);
}

function store({ queue, link }, message, delivery, format) {
  const before = fault("send", "before");
  if (before && fail(before, link.connection)) return;
  if (before) return delivery.reject(problem(before));
  const batch = format === BATCH ? unbatch(message) : [message];
  const objection = batch.map((m) => queue.objection(m)).find(Boolean);
  if (objection) return delivery.reject(objection);
  for (const m of batch) queue.put(m, ++sequence);
  const after = fault("send", "after");
  if (!after || !fail(after, link.connection)) after ? delivery.reject(problem(after)) : delivery.accept();
  pump();
}

function unbatch(data) {
  const { body } = codec.decode(data);
  return (body.multiple ? body.content : [body.content]).map((m) => codec.decode(m));
}

// ---- messages to clients ----

// hasCredit says whether the client wants a message more. The wire takes a message only some time after
// send, so what is still on its way counts too.
const hasCredit = ({ link, sent }) => link.is_sender() && link.is_open() && link.credit - (sent - link.delivery_count) > 0;

// pump hands out what can be handed out.
function pump() {
  for (const entry of links) {
    const { link, kind, queue, session } = entry;
    if (kind !== "queue") continue;
    while (hasCredit(entry)) {
      const it = queue.take(session);
      if (!it) break;
      entry.sent++;
      entry.used = now;
      link.send(outgoing(it), tag(it.lock)).lock = it.lock;
    }
  }
}

// tag is the lock token in the byte order of a .NET Guid.
function tag(lock) {
  const b = Buffer.from(lock, "hex");
  return Buffer.from([b[3], b[2], b[1], b[0], b[5], b[4], b[7], b[6], ...b.subarray(8)]);
}

function outgoing(it) {
  const annotations = {
    ...it.m.message_annotations,
    "x-opt-sequence-number": types.wrap_long(it.seq),
    "x-opt-locked-until": types.wrap_timestamp(it.until),
    "x-opt-enqueued-time": types.wrap_timestamp(it.available),
  };
  const at = annotations["x-opt-scheduled-enqueue-time"];
  if (at !== undefined) annotations["x-opt-scheduled-enqueue-time"] = types.wrap_timestamp(Number(at));
  return { ...it.m, delivery_count: it.deliveries - 1, message_annotations: annotations };
}

const LOCK_LOST = { condition: "com.microsoft:message-lock-lost", description: "The lock supplied is invalid. Either the lock expired, or the message has already been removed from the queue." };

// settle answers a disposition: what the client decided, or that its lock is lost.
function settle({ sender, delivery }, act) {
  const { entry } = sender;
  const planned = fault("settle", "before");
  if (planned && fail(planned, sender.connection)) return;
  if (entry) entry.used = now;
  const it = entry?.queue.locked(delivery.lock);
  if (it) act(entry.queue, it);
  const after = fault("settle", "after");
  if (after && fail(after, sender.connection)) return;
  delivery.update(true, it ? codec.accepted().described() : codec.rejected({ error: LOCK_LOST }).described());
  delivery.remote_settled = true;
  pump();
}

// ---- requests ----

function answer(connection, request, { code, description = "", body = types.wrap_map({}) }) {
  for (const { link } of links) {
    if (link.connection === connection && link.is_sender() && link.target?.address === request.reply_to) {
      link.send({
        correlation_id: request.message_id,
        application_properties: { "status-code": types.wrap_int(code), "status-description": description },
        body,
      });
    }
  }
}

function putToken(request, connection) {
  const f = fault("token", "before");
  if (f && fail(f, connection)) return undefined;
  // Whatever the client said in confidence comes back, so that a test sees whether it gets any further.
  return f ? { code: f.code ?? 401, description: `no claim: ${request.body}` } : { code: 202, description: "Accepted" };
}

const hex = (uuid) => Buffer.from(uuid).toString("hex");
const lost = { code: 410, description: LOCK_LOST.description };

function manage(entry, request, connection) {
  const { operation } = request.application_properties;
  const f = fault("request", "before");
  if (f && fail(f, connection)) return undefined;
  const does = requests[operation];
  const reply = does ? does(entry.queue, request, connection) : { code: 501, description: operation };
  pump();
  return reply;
}

const requests = {
  "com.microsoft:peek-message": () => ({ code: 204, description: "no messages" }),
  "com.microsoft:renew-lock": (queue, { body }) => {
    const items = [...body["lock-tokens"]].map((t) => queue.locked(hex(t)));
    if (queue.sessions || items.includes(undefined)) return lost;
    const ends = items.map((it) => queue.renew(it));
    return { code: 200, body: types.wrap_map({ expirations: types.wrap_array(ends, 0x83) }) };
  },
  "com.microsoft:renew-session-lock": (queue, { body, application_properties: p }, connection) => {
    const id = body["session-id"];
    const holder = queue.sessions?.get(id)?.link;
    renewals++;
    const until = holder?.connection === connection && holder.name === p["associated-link-name"] ? queue.renewSession(id, holder) : undefined;
    if (until === undefined) return { code: 410, description: "com.microsoft:session-lock-lost" };
    return { code: 200, body: types.wrap_map({ expiration: types.wrap_timestamp(until) }) };
  },
  "com.microsoft:update-disposition": (queue, { body }) => {
    const it = queue.locked(hex([...body["lock-tokens"]][0]));
    if (!it || queue.sessions) return lost; // a session's message is settled on its link
    if (body["disposition-status"] === "completed") queue.remove(it); else queue.giveBack(it);
    return { code: 200 };
  },
};

// ---- time ----

function advance(ms) {
  now += ms;
  for (const queue of queues.values()) {
    for (const link of queue.tick()) detach(link.entry, "com.microsoft:session-lock-lost", "The session lock has expired.");
  }
  for (const entry of [...links]) {
    if (now - entry.used >= IDLE_LINK) detach(entry, "amqp:link:detach-forced", "The link was detached because it was idle for 10 minutes.");
  }
  for (const connection of connections) {
    if (now - connection.used >= IDLE_LINK + IDLE_CONNECTION && ![...links].some((e) => e.link.connection === connection)) {
      connection.close({ condition: "amqp:connection:forced", description: "The connection was inactive for more than the allowed 300000 milliseconds." });
    }
  }
  pump();
}

// ---- the container ----

const container = rhea.create_container({ id: "servicebus" });
container.sasl_server_mechanisms.enable_anonymous();
container.on("connection_open", ({ connection }) => { connections.add(connection); connection.used = now; });
container.on("receiver_open", onClientSender);
container.on("sender_open", onClientReceiver);
container.on("message", onMessage);
container.on("sender_flow", ({ sender }) => { if (sender.entry) sender.entry.used = now; pump(); });
container.on("accepted", (c) => settle(c, (queue, it) => queue.remove(it)));
container.on("released", (c) => settle(c, (queue, it) => queue.giveBack(it, false)));
container.on("modified", (c) => settle(c, (queue, it) => queue.giveBack(it)));
container.on("rejected", (c) => settle(c, (queue, it) => {
  const info = c.delivery.remote_state.error?.info ?? {};
  queue.bury(it, info.DeadLetterReason ?? "", info.DeadLetterErrorDescription ?? "");
}));
container.on("sender_close", ({ sender }) => gone(sender.entry));
container.on("receiver_close", ({ receiver }) => gone(receiver.entry));
container.on("session_close", ({ session }) => left((link) => link.session === session));
container.on("connection_close", ({ connection }) => end(connection));
container.on("disconnected", ({ connection }) => end(connection));
for (const e of ["sender_error", "receiver_error", "session_error", "connection_error", "protocol_error", "error"]) container.on(e, () => {});

function left(of) { for (const entry of [...links]) if (of(entry.link)) gone(entry); }
function end(connection) { connections.delete(connection); left((link) => link.connection === connection); }

const amqp = container.listen({
  port: 0, host: "127.0.0.1", max_frame_size: 65536, tcp_no_delay: true,
  receiver_options: { autoaccept: false, autosettle: false },
  sender_options: { autosettle: false, treat_modified_as_released: false },
});

// ---- control ----

// POST /reset {now, queues}; /advance {ms}; /fault {at: send|settle|attach|token|request, moment: before|after,
// how: cut|silent, or condition, times}; /drop cuts every connection; /state changes nothing. All of them
// answer with the state.
const does = {
  "/reset": (body) => { cutAll(); reset(body); },
  "/advance": ({ ms }) => advance(ms),
  "/fault": (f) => faults.push(f),
  "/drop": () => cutAll(),
  "/state": () => {},
};

function cutAll() {
  for (const connection of [...connections]) { connection.socket.destroy(); end(connection); }
}

const state = () => ({
  now,
  connections: connections.size,
  links: [...links].filter((e) => e.kind === "queue").length,
  waiting: [...links].filter((e) => e.kind === "queue" && hasCredit(e)).length,
  sessions: [...queues.values()].reduce((n, q) => n + (q.sessions?.size ?? 0), 0),
  renewals, // of sessions
  faults: faults.filter((f) => f.times !== 0).length,
  queues: Object.fromEntries([...queues.values()].map((q) => [q.name, q.counts()])),
});

const control = createHTTP((req, res) => {
  let body = "";
  req.on("data", (part) => { body += part; });
  req.on("end", () => {
    does[req.url](JSON.parse(body || "{}"));
    res.setHeader("Connection", "close");
    res.end(JSON.stringify(state()));
  });
});

reset(JSON.parse(process.argv[2]));
const front = createServer((socket) => {
  socket.once("data", (first) => {
    socket.pause();
    socket.unshift(first);
    (first.toString("latin1").startsWith("AMQP") ? amqp : control).emit("connection", socket);
    socket.resume();
  });
  socket.on("error", () => {});
});
front.listen(0, "127.0.0.1", () => console.log(`listening 127.0.0.1:${front.address().port}`));
