// The pages work without this file. With it they are live: the server says
// "look again", the page is fetched as it is and the changed part is put in
// place of the old one.
"use strict";

// What can be focused, in the order of the page.
const focusable = "a[href], button, input, select, textarea, summary, [tabindex]";

// typing reports whether somebody is writing in part, which must not be lost.
function typing(part) {
  return [...part.querySelectorAll("textarea, input:not([type=hidden])")].some((f) => f.value !== f.defaultValue);
}

// swap puts the page's present state in place and reports what came of it:
// "kept" when it could not, "shown", or "ended" when nothing more will change.
async function swap(root) {
  const part = root.querySelector("[data-swap]");
  if (!part || typing(part)) return "kept";
  const answer = await fetch(location.href, { headers: { Accept: "text/html" }, credentials: "same-origin" });
  if (!answer.ok) return "kept";
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.querySelector(`[data-swap="${part.dataset.swap}"]`);
  if (!fresh || typing(part)) return "kept";
  // What the reader opened stays open, and the focus stays where it is.
  for (const old of part.querySelectorAll("details[open][data-key]")) {
    const same = [...fresh.querySelectorAll("details")].find((d) => d.dataset.key === old.dataset.key);
    if (same) same.open = true;
  }
  const at = [...part.querySelectorAll(focusable)].indexOf(document.activeElement);
  part.replaceWith(document.adoptNode(fresh));
  if (at >= 0) fresh.querySelectorAll(focusable)[at]?.focus({ preventScroll: true });
  for (const form of fresh.querySelectorAll("[data-composer]")) compose(form);
  return !page.querySelector("[data-going]") && root.hasAttribute("data-going") ? "ended" : "shown";
}

function live(root) {
  const source = new EventSource(root.dataset.live);
  let waiting = false;
  const look = (after) => {
    if (waiting) return;
    waiting = true;
    setTimeout(async () => {
      waiting = false;
      const came = await swap(root).catch(() => "kept");
      if (came === "kept") look(3000); // the change may have been the last one
      if (came !== "ended") return;
      root.removeAttribute("data-going");
      source.close();
    }, after);
  };
  source.addEventListener("change", () => look(250));
}

function compose(form) {
  const drop = form.querySelector("[data-drop]");
  const input = form.querySelector("input[type=file]");
  form.querySelector("textarea")?.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) form.requestSubmit();
  });
  form.addEventListener("submit", () => {
    const button = form.querySelector("button.primary");
    button.disabled = true;
    button.textContent = "Sending…";
  });
  if (!drop || !input) return;
  const show = () => {
    const list = form.querySelector("[data-chosen]");
    list.replaceChildren(...[...input.files].map((f) => {
      const item = document.createElement("li");
      item.textContent = f.name;
      return item;
    }));
  };
  input.addEventListener("change", show);
  for (const name of ["dragenter", "dragover"]) drop.addEventListener(name, (e) => { e.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (e) => {
    e.preventDefault();
    drop.classList.remove("over");
    if (e.dataTransfer.files.length) { input.files = e.dataTransfer.files; show(); }
  });
}

// A page that comes back from the browser's memory has its button ready again.
addEventListener("pageshow", (e) => { if (e.persisted) location.reload(); });
for (const root of document.querySelectorAll("[data-live]")) {
  if (root.tagName !== "ARTICLE" || root.hasAttribute("data-going")) live(root);
}
for (const form of document.querySelectorAll("[data-composer]")) compose(form);
