/**
 * Keeps the numbers of a page fresh: fetches the page's own part again and puts it in place.
 *
 * It stops while nobody looks, and leaves focus and opened details as they are. The sentence for
 * screen readers changes at most twice a minute.
 */
const SECONDS = 2;
const SLOWEST = 30;
const SPEAK_EVERY = 30_000;

const region = document.querySelector("[data-live]");
const status = document.querySelector("#status");
let wait = SECONDS;
let spoken = Date.now();
let before = "";

/** Tell which element has the focus, as a selector that finds it again in a fresh copy. */
const focused = () => {
  const element = document.activeElement;
  if (!element || !region.contains(element)) return undefined;
  if (element.matches("summary")) return `#${CSS.escape(element.parentElement.id)} > summary`;
  if (element.matches(".deniable")) return `[aria-labelledby=${name(element)}] > .deniable`;
  const label = element.getAttribute("aria-label");
  if (label) return `[aria-label="${CSS.escape(label)}"]`;
  const href = element.getAttribute("href");
  return href ? `a[href="${CSS.escape(href)}"]` : undefined;
};

/** Return the id of the heading of the panel that an element is in. */
const name = (element) => element.closest("section").getAttribute("aria-labelledby");

const put = (text) => {
  const open = [...region.querySelectorAll("details[open]")].map((each) => each.id);
  const scrolled = [...region.querySelectorAll(".scroll, .deniable")].map((each) => each.scrollLeft);
  const place = focused();
  region.innerHTML = text;
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  region.querySelectorAll(".scroll, .deniable").forEach((each, i) => (each.scrollLeft = scrolled[i] ?? 0));
  if (place) region.querySelector(place)?.focus({ preventScroll: true });
};

const speak = () => {
  const said = region.querySelector("[data-said]")?.dataset.said ?? "";
  if (Date.now() - spoken < SPEAK_EVERY || status.textContent === said) return;
  status.textContent = said;
  spoken = Date.now();
};

const refresh = async () => {
  const address = new URL(location.href);
  address.searchParams.set("fragment", "");
  const reply = await fetch(address, { cache: "no-store" });
  if (reply.status === 401) {
    status.textContent = "The session has ended. Log in again to see new numbers.";
    status.classList.remove("unseen");
    return false;
  }
  const text = reply.ok ? await reply.text() : before;
  wait = text === before ? Math.min(SLOWEST, 1.5 * wait) : SECONDS;
  if (reply.ok && text !== before) put(text);
  before = text;
  speak();
  return true;
};

/** Wait until somebody looks at the page. */
const seen = () =>
  new Promise((resolve) => {
    if (!document.hidden) resolve();
    else document.addEventListener("visibilitychange", resolve, { once: true });
  });

const run = async () => {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 1000 * wait));
    if (document.hidden) wait = SECONDS;
    await seen();
    try {
      if (!(await refresh())) return;
    } catch {
      wait = Math.min(SLOWEST, 2 * wait); // the network is gone; the numbers stay
    }
  }
};

document.querySelector("[data-refresh]")?.closest("p").remove();
run();
