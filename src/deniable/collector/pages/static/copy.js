/** Copies the text of the element that a button names. */
export {};

/** @type {NodeListOf<HTMLButtonElement>} */
const buttons = document.querySelectorAll("[data-copy]");

for (const button of buttons) {
  const said = button.textContent;
  const place = button.dataset["copy"] ?? "";
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(place)?.textContent ?? "");
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = said), 2000);
  });
}

// The last step of collecting turns green by itself.
const arrived = /** @type {HTMLElement | null} */ (document.querySelector("[data-arrived]"));
const wait = async () => {
  const address = new URL(location.href);
  address.searchParams.set("fragment", "");
  const reply = document.hidden ? undefined : await fetch(address, { redirect: "manual" }).catch(() => undefined);
  const said = reply?.ok ? await reply.text() : "";
  if (arrived && said) {
    arrived.textContent = `${said} so far.`;
    arrived.classList.remove("coarse");
  } else setTimeout(wait, 3000);
};
if (arrived?.classList.contains("coarse")) setTimeout(wait, 3000);

// A question that was created needs no draft any more.
try {
  if (sessionStorage.getItem("deniable-draft-sent")) {
    sessionStorage.removeItem("deniable-draft");
    sessionStorage.removeItem("deniable-draft-sent");
  }
} catch {}
