// Azurite requires its telemetry and its SQL drivers at start, and uses neither when it serves tables with
// telemetry off. Whatever is asked of them is a function that returns itself.
const nothing = new Proxy(function () {}, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => "" : nothing),
  apply: () => nothing,
  construct: () => nothing,
});
module.exports = nothing;
