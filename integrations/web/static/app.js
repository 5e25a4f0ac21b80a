// The pages work without this file. With it they are live: the server says
// "look again", the page is fetched as it is and the changed part is put in
// place of the old one.
"use strict";

async function swap(root) {
  const part = root.querySelector("[data-swap]");
  if (!part || root.contains(document.activeElement) && document.activeElement.closest("[data-swap] form")) return;
  const answer = await fetch(location.href, { headers: { Accept: "text/html" }, credentials: "same-origin" });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.querySelector(`[data-swap="${part.dataset.swap}"]`);
  if (!fresh) return;
  // What the reader opened stays open.
  const open = [...part.querySelectorAll("details")].map((d) => d.open);
  fresh.querySelectorAll("details").forEach((d, i) => { if (open[i]) d.open = true; });
  part.replaceWith(document.adoptNode(fresh));
  if (root.hasAttribute("data-going") && !page.querySelector("[data-going]")) location.reload();
}

for (const root of document.querySelectorAll("[data-live]")) {
  if (root.tagName === "ARTICLE" && !root.hasAttribute("data-going")) continue;
  let waiting = false;
  new EventSource(root.dataset.live).addEventListener("change", () => {
    if (waiting) return;
    waiting = true;
    setTimeout(() => { waiting = false; swap(root); }, 300);
  });
}

for (const form of document.querySelectorAll("[data-composer]")) {
  const drop = form.querySelector("[data-drop]");
  const input = form.querySelector("input[type=file]");
  const text = form.querySelector("textarea");
  text?.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) form.requestSubmit();
  });
  form.addEventListener("submit", () => {
    const button = form.querySelector("button.primary");
    button.disabled = true;
    button.textContent = "Sending…";
  });
  if (!drop || !input) continue;
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
