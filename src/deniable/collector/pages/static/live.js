/**
 * Keeps the numbers of a page fresh: fetches the part of the page that changes and replaces it.
 *
 * It pauses while nobody looks, and keeps the focus, opened details and the order of the rows: a
 * button sorts them anew when they have moved. The sentence for screen readers changes at most
 * twice a minute.
 */
export {};

const SECONDS = 2;
const SLOWEST = 10;
const SPEAK_EVERY = 30_000;
/** What to say when asking again is pointless. @type {Record<number, string>} */
const ENDINGS = {
  401: "The session has ended. These numbers no longer move.",
  404: "This question is no longer asked here.",
};

const region = /** @type {HTMLElement} */ (document.querySelector("[data-live]"));
const sentence = /** @type {HTMLElement} */ (document.querySelector("#status"));
let wait = SECONDS;
let spoken = Date.now();
let before = "";

/** Return a selector of the element with the focus, which finds it in a fresh copy. */
const focused = () => {
  const element = document.activeElement;
  if (!element || !region.contains(element)) return undefined;
  if (element.matches("summary")) return `#${CSS.escape(element.parentElement?.id ?? "")} > summary`;
  const label = element.getAttribute("aria-label");
  if (label) return `[aria-label="${CSS.escape(label)}"]`;
  const href = element.getAttribute("href");
  return href ? `a[href="${CSS.escape(href)}"]` : undefined;
};

/** Whether somebody has selected text here, perhaps to copy it. */
const marked = () => {
  const selection = document.getSelection();
  return !!selection && !selection.isCollapsed && region.contains(selection.anchorNode);
};

/** Show a sentence to everybody, with a way to log in again. @param {string} text @param {boolean} login */
const warn = (text, login = false) => {
  sentence.textContent = text;
  if (login) {
    const link = document.createElement("a");
    link.href = `/login?next=${encodeURIComponent(location.pathname + location.search)}`;
    link.textContent = "Log in";
    sentence.append(" ", link);
  }
  sentence.className = text ? "panel notice" : "unseen";
};

/** The rows of the chart, by the answers that head them. */
const rows = () =>
  /** @type {Map<string, Element>} */ (
    new Map([...region.querySelectorAll(".chart tbody tr")].map((row) => [row.querySelector("th")?.textContent ?? "", row]))
  );

/** Put the rows into the order that they had; a button appears if it is no longer theirs. @param {string[]} order */
const keepOrder = (order) => {
  const fresh = rows();
  const kept = order.filter((name) => fresh.has(name));
  const own = [...fresh.keys()];
  const all = [...kept, ...own.filter((name) => !kept.includes(name))];
  if (!order.length || all.every((name, i) => name === own[i])) return;
  const body = region.querySelector(".chart tbody");
  body?.append(.../** @type {Element[]} */ (all.map((name) => fresh.get(name))));
  const button = document.createElement("button");
  button.type = "button";
  button.className = "second slim noprint";
  button.textContent = "Sort again";
  button.addEventListener("click", () => {
    body?.append(.../** @type {Element[]} */ (own.map((name) => fresh.get(name))));
    button.remove();
  });
  region.querySelector(".chart")?.after(button);
};

/** @param {string} text */
const put = (text) => {
  const open = [...region.querySelectorAll("details[open]")].map((each) => each.id);
  const scrolled = [...region.querySelectorAll(".scroll, .listing")].map((each) => each.scrollLeft);
  const place = focused();
  const order = [...rows().keys()];
  region.innerHTML = text;
  keepOrder(order);
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  region.querySelectorAll(".scroll, .listing").forEach((each, i) => (each.scrollLeft = scrolled[i] ?? 0));
  const again = /** @type {HTMLElement | null} */ (place ? region.querySelector(place) : null);
  again?.focus({ preventScroll: true });
  const standing = document.querySelector("#standing");
  const said = region.querySelector("[data-standing]")?.getAttribute("data-standing");
  if (standing && said) standing.textContent = said;
};

const speak = () => {
  const said = region.querySelector("[data-said]")?.getAttribute("data-said") ?? "";
  if (Date.now() - spoken < SPEAK_EVERY || sentence.textContent === said) return;
  sentence.textContent = said;
  spoken = Date.now();
};

/** Fetch the part again; false if there is nothing more to come. */
const refresh = async () => {
  const address = new URL(location.href);
  address.searchParams.delete("done");
  address.searchParams.set("fragment", "");
  const reply = await fetch(address, { cache: "no-store", redirect: "manual" });
  // A session that has ended leads to the log-in.
  const status = reply.type === "opaqueredirect" ? 401 : reply.status;
  const ending = ENDINGS[status];
  if (ending) {
    warn(ending, status === 401);
    return false;
  }
  if (!reply.ok) throw new Error(String(status));
  if (!sentence.classList.contains("unseen")) warn("");
  const text = await reply.text();
  wait = text === before ? Math.min(SLOWEST, 1.5 * wait) : SECONDS;
  if (text === before || marked()) return true;
  put(text);
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
      wait = Math.min(SLOWEST, 2 * wait);
      if (wait === SLOWEST) warn("The collector does not respond; these numbers may be out of date.");
    }
  }
};

document.querySelector("[data-refresh]")?.closest("p")?.remove();
run();
