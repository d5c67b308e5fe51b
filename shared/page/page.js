"use strict";
// Puts what the server shows now in the place of what is shown, node by node: what is open, scrolled to
// or has the focus stays so. Without this script the page works too, only not by itself.
const live = document.getElementById("live");
const filter = document.getElementById("filter");
const said = document.getElementById("said");
const stale = document.getElementById("stale");
const every = Number(document.body.dataset.every);
let timer, current;

// address is where the changing part is, with what is open shown in full.
function address() {
  const query = new URLSearchParams(location.search);
  query.delete("open");
  query.set("part", "live");
  for (const shown of live.querySelectorAll("details[data-open][open]")) query.append("open", shown.id);
  return location.pathname + "?" + query;
}

async function refresh() {
  clearTimeout(timer);
  const mine = current = {}; // a later call makes an earlier one's answer worthless
  try {
    const answer = await fetch(address(), { cache: "no-store", redirect: "error" });
    if (!answer.ok) throw new Error(answer.status);
    const text = await answer.text();
    if (mine !== current) return;
    const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("live");
    if (!fresh) throw new Error("another page");
    replace(fresh);
    stale.hidden = true;
  } catch {
    if (mine !== current) return;
    stale.hidden = false;
  }
  timer = setTimeout(tick, every);
}

function tick() {
  if (document.hidden) return; // goes on when it is looked at again
  refresh();
}

function replace(fresh) {
  const known = new Map([...live.querySelectorAll("[id]")].map((e) => [e.id, e]));
  const focused = document.activeElement;
  children(live, fresh, known);
  if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
}

function children(from, to, known) {
  let at = from.firstChild;
  for (const want of [...to.childNodes]) {
    let have = want.id ? known.get(want.id) : at;
    if (!have || have.nodeName !== want.nodeName || (!want.id && have.id)) have = null;
    if (!have) {
      from.insertBefore(fill(want, known), at);
    } else {
      if (have === at) at = at.nextSibling;
      else from.insertBefore(have, at);
      morph(have, want, known);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

// fill makes a node that was not there, of nodes that were where it can.
function fill(want, known) {
  const made = document.importNode(want, false);
  children(made, want, known);
  return made;
}

function morph(have, want, known) {
  if (have.nodeType !== Node.ELEMENT_NODE) {
    if (have.data !== want.data) have.data = want.data;
    return;
  }
  for (const { name } of [...have.attributes]) if (name !== "open" && !want.hasAttribute(name)) have.removeAttribute(name);
  for (const { name, value } of want.attributes) if (name !== "open" && have.getAttribute(name) !== value) have.setAttribute(name, value);
  // What was opened while the answer was under way is asked for by the next one.
  if (have.matches("details[data-open]") && have.open && !want.open) return;
  children(have, want, known);
}

// show goes to another view of the page without loading it anew.
function show(query) {
  history.replaceState(null, "", "?" + query);
  refresh();
}

live.addEventListener("toggle", (event) => {
  if (event.target.open && event.target.matches("[data-open]")) refresh();
}, true);

live.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-live]");
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
  event.preventDefault();
  const query = new URL(link.href).searchParams;
  setOutcome(query.get("outcome"));
  show(query);
});

// setOutcome keeps the filter's form in step with the view.
function setOutcome(outcome) {
  const field = filter.elements.outcome || filter.appendChild(Object.assign(document.createElement("input"), { type: "hidden", name: "outcome" }));
  field.value = outcome || "";
}

function find() {
  const query = new URLSearchParams(new FormData(filter));
  for (const [name, value] of [...query]) if (!value) query.delete(name);
  show(query);
}
let typing;
filter.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(find, 200);
});
filter.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(typing);
  find();
});

// What changes something is sent without leaving the page, and the answer is said.
live.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const button = form.querySelector("button");
  button.disabled = true;
  try {
    const answer = await fetch(form.action, {
      method: "POST", body: new URLSearchParams(new FormData(form)), headers: { Accept: "application/json" }, redirect: "error",
    });
    const result = await answer.json();
    said.textContent = result.done || result.error;
    said.classList.toggle("bad", !answer.ok);
    if (answer.ok) document.getElementById("letters-title").focus({ preventScroll: true });
  } catch {
    said.textContent = "No answer. It may have been done or not; look before you repeat it.";
    said.classList.add("bad");
  }
  button.disabled = false;
  refresh();
});

document.addEventListener("visibilitychange", tick);
timer = setTimeout(tick, every);
