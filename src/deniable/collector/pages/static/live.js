/**
 * Keeps the numbers of a page fresh: fetches the page's own part again and puts it in place.
 *
 * It stops while nobody looks, and leaves focus and opened details as they are. The sentence for
 * screen readers changes at most twice a minute.
 */
export {};

const SECONDS = 2;
const SLOWEST = 10;
const SPEAK_EVERY = 30_000;

const region = /** @type {HTMLElement} */ (document.querySelector("[data-live]"));
const sentence = /** @type {HTMLElement} */ (document.querySelector("#status"));
let wait = SECONDS;
let spoken = Date.now();
let before = "";

/** Tell which element has the focus, as a selector that finds it again in a fresh copy. */
const focused = () => {
  const element = document.activeElement;
  if (!element || !region.contains(element)) return undefined;
  if (element.matches("summary")) return `#${CSS.escape(element.parentElement?.id ?? "")} > summary`;
  if (element.matches(".deniable")) {
    return `[aria-labelledby=${element.closest("section")?.getAttribute("aria-labelledby")}] > .deniable`;
  }
  const label = element.getAttribute("aria-label");
  if (label) return `[aria-label="${CSS.escape(label)}"]`;
  const href = element.getAttribute("href");
  return href ? `a[href="${CSS.escape(href)}"]` : undefined;
};

/** @param {string} text */
const put = (text) => {
  const open = [...region.querySelectorAll("details[open]")].map((each) => each.id);
  const scrolled = [...region.querySelectorAll(".scroll, .deniable")].map((each) => each.scrollLeft);
  const place = focused();
  region.innerHTML = text;
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  region
    .querySelectorAll(".scroll, .deniable")
    .forEach((each, i) => (each.scrollLeft = scrolled[i] ?? 0));
  const again = /** @type {HTMLElement | null} */ (place ? region.querySelector(place) : null);
  again?.focus({ preventScroll: true });
};

const speak = () => {
  const said = region.querySelector("[data-said]")?.getAttribute("data-said") ?? "";
  if (Date.now() - spoken < SPEAK_EVERY || sentence.textContent === said) return;
  sentence.textContent = said;
  spoken = Date.now();
};

/** Fetch the part again; false when the session has ended. */
const refresh = async () => {
  const address = new URL(location.href);
  address.searchParams.set("fragment", "");
  const reply = await fetch(address, { cache: "no-store" });
  if (reply.status === 401) {
    sentence.textContent = "The session has ended. Log in again to see new numbers.";
    sentence.classList.remove("unseen");
    return false;
  }
  const text = reply.ok ? await reply.text() : before;
  wait = text === before ? Math.min(SLOWEST, 1.5 * wait) : SECONDS;
  if (reply.ok && text !== before) put(text);
  before = text;
  speak();
  return true;
};

/** @param {number} seconds */
const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

/** Wait until somebody looks at the page. */
const seen = () =>
  new Promise((resolve) => {
    if (!document.hidden) resolve(undefined);
    else document.addEventListener("visibilitychange", resolve, { once: true });
  });

const run = async () => {
  for (;;) {
    await pause(wait);
    if (document.hidden) wait = SECONDS;
    await seen();
    try {
      if (!(await refresh())) return;
    } catch {
      wait = Math.min(SLOWEST, 2 * wait); // the network is gone; the numbers stay
    }
  }
};

document.querySelector("[data-refresh]")?.closest("p")?.remove();
run();
