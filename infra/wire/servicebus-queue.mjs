// One queue as Service Bus keeps it, without the wire: locks, sessions, schedules, duplicates, expiry and
// dead letters. It starts no timer: time passes when the clock it was given says so and tick is called.
import { randomBytes } from "node:crypto";

const MS = 1e6; // durations arrive in nanoseconds, as Go's time.Duration is written in JSON

export class Queue {
  constructor(config, clock) {
    this.name = config.Name;
    this.lockMs = (config.LockDuration || 60e9) / MS;
    this.maxDeliveries = config.MaxDeliveries || 10;
    this.windowMs = (config.DuplicateWindow || 0) / MS;
    this.sessions = config.Sessions ? new Map() : null; // session id -> {link, until}
    this.ttlMs = (config.DefaultTTL || 0) / MS;
    this.deadOnExpiry = Boolean(config.DeadLetterOnExpiry);
    this.clock = clock;
    this.items = [];
    this.seen = new Map(); // message id -> when it is forgotten
    this.dead = config.isDead ? null : new Queue({ Name: `${config.Name}/$DeadLetterQueue`, LockDuration: config.LockDuration, isDead: true }, clock);
  }

  // objection is the error with which the message is refused, undefined when it is not.
  objection(m) {
    if (this.sessions && !m.group_id) {
      return { condition: "amqp:not-allowed", description: "The SessionId was not set on a message, and it cannot be sent to the entity." };
    }
  }

  // put stores the message, unless its id was seen within the duplicate window.
  put(m, seq) {
    const now = this.clock();
    if (this.windowMs && m.message_id !== undefined) {
      if (this.seen.get(m.message_id) > now) return;
      this.seen.set(m.message_id, now + this.windowMs);
    }
    const at = Number(m.message_annotations?.["x-opt-scheduled-enqueue-time"] ?? 0);
    const it = { m, seq, available: Math.max(at, now), deliveries: 0, lock: null, expires: Infinity };
    const ttl = [m.ttl, this.ttlMs].filter(Boolean);
    if (ttl.length) it.expires = it.available + Math.min(...ttl);
    this.insert(it);
  }

  insert(it) {
    this.items.push(it);
    this.items.sort((a, b) => a.available - b.available || a.seq - b.seq);
  }

  // take locks the next message for a receiver, of its session where there are sessions.
  take(session) {
    const now = this.clock();
    const it = this.items.find((i) => !i.lock && i.available <= now && (!this.sessions || i.m.group_id === session));
    if (!it) return undefined;
    it.deliveries++;
    it.lock = randomBytes(16).toString("hex");
    it.until = this.sessions ? this.sessions.get(session).until : now + this.lockMs;
    return it;
  }

  locked(lock) { return this.items.find((i) => i.lock === lock); }

  remove(it) { this.items.splice(this.items.indexOf(it), 1); }

  // giveBack ends a lock; a message whose deliveries are used up is buried.
  giveBack(it, counted = true) {
    it.lock = null;
    if (!counted) it.deliveries--;
    if (this.dead && it.deliveries >= this.maxDeliveries) {
      this.bury(it, "MaxDeliveryCountExceeded", `delivered ${it.deliveries} times without being completed`);
    }
  }

  bury(it, reason, text) {
    this.remove(it);
    it.m.application_properties = { ...it.m.application_properties, DeadLetterReason: reason, DeadLetterErrorDescription: text };
    this.dead?.insert({ ...it, lock: null, available: this.clock(), expires: Infinity });
  }

  renew(it) { return it.until = this.clock() + this.lockMs; }

  // hold gives the session to the link; false when another has it.
  hold(session, link) {
    if (this.sessions.has(session)) return false;
    this.sessions.set(session, { link, until: this.clock() + this.lockMs });
    return true;
  }

  renewSession(session, link) {
    const held = this.sessions?.get(session);
    if (!held || held.link !== link) return undefined;
    held.until = this.clock() + this.lockMs;
    for (const it of this.items) if (it.lock && it.m.group_id === session) it.until = held.until;
    return held.until;
  }

  // free ends a session's lock and with it those of its messages.
  free(session) {
    this.sessions.delete(session);
    for (const it of this.items.filter((i) => i.lock && i.m.group_id === session)) this.giveBack(it);
  }

  // tick lets everything happen that time has brought, and returns the links whose session was lost.
  tick() {
    const now = this.clock();
    const lost = [];
    for (const [session, held] of this.sessions ?? []) {
      if (held.until <= now) { lost.push(held.link); this.free(session); }
    }
    for (const it of this.items.filter((i) => i.lock && i.until <= now)) this.giveBack(it);
    for (const it of this.items.filter((i) => !i.lock && i.expires <= now)) {
      if (this.deadOnExpiry) this.bury(it, "TTLExpiredException", "the message expired"); else this.remove(it);
    }
    for (const [id, until] of this.seen) if (until <= now) this.seen.delete(id);
    return lost;
  }

  counts() {
    const now = this.clock();
    const locked = this.items.filter((i) => i.lock).length;
    const scheduled = this.items.filter((i) => !i.lock && i.available > now).length;
    return { active: this.items.length - locked - scheduled, scheduled, locked, deadLettered: this.dead?.items.length ?? 0 };
  }
}
