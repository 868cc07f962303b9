/** Computes the plan again while somebody types, and shows it. */
export {};

const form = /** @type {HTMLFormElement} */ (document.querySelector("[data-plan]"));
const text = /** @type {HTMLElement} */ (document.querySelector("[data-plan-text]"));
/** The numbers of which one is computed. */
const numbers = ["users", "epsilon", "error"].map(
  (name) => /** @type {HTMLInputElement} */ (form.elements.namedItem(name)),
);
let timer = 0;
let asked = 0;

/** Return what the form would send. */
const fields = () => {
  const found = new URLSearchParams();
  new FormData(form).forEach((value, name) => found.set(name, String(value)));
  return found;
};

const plan = async () => {
  const number = ++asked;
  const body = fields();
  body.set("action", "plan");
  body.set("fragment", "");
  const reply = await fetch("/new", { method: "POST", body });
  const said = await reply.text();
  if (number !== asked) return;
  if (reply.ok) text.innerHTML = said;
  else text.textContent = `The plan is not up to date: the collector answered ${reply.status}. Log in again.`;
};

/** Disable the field of the number that is computed. */
const mark = () => {
  const solve = new FormData(form).get("solve");
  for (const input of numbers) input.disabled = input.name === solve;
};

form.addEventListener("input", () => {
  mark();
  clearTimeout(timer);
  timer = setTimeout(() => plan().catch(() => {}), 300);
});
// A disabled field is not sent, so enable all: what was entered before is sent too.
form.addEventListener("submit", () => {
  for (const input of numbers) input.disabled = false;
});
mark();
