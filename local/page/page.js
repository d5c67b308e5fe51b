"use strict";
// Puts a fresh copy of the page's content in place every two seconds and keeps open what is open.
async function refresh() {
  try {
    const answer = await fetch("/", { cache: "no-store" });
    if (!answer.ok) throw new Error(answer.status);
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("content");
    for (const gate of document.querySelectorAll("details[open]")) {
      const same = fresh.querySelector("#" + CSS.escape(gate.id));
      if (same) same.open = true;
    }
    const focused = document.activeElement && document.activeElement.closest("details");
    document.getElementById("content").replaceWith(document.adoptNode(fresh));
    const again = focused && document.getElementById(focused.id);
    if (again) again.querySelector("summary").focus({ preventScroll: true });
  } catch {
    document.getElementById("stale").hidden = false;
  }
  setTimeout(refresh, 2000);
}
setTimeout(refresh, 2000);
