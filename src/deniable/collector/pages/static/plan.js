/** Works out the plan again while somebody types, and shows it in place. */
export {};

const form = /** @type {HTMLFormElement} */ (document.querySelector("[data-plan]"));
const text = /** @type {HTMLElement} */ (document.querySelector("[data-plan-text]"));
/** The numbers of which one is computed. */
const numbers = ["users", "epsilon", "error"].map(
  (name) => /** @type {HTMLInputElement} */ (form.elements.namedItem(name)),
);
let timer = 0;
let asked = 0;

/** Return what the form would send, and a few fields more. */
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
  if (reply.ok && number === asked && text.innerHTML !== said) text.innerHTML = said;
};

/** The number that is computed is not asked for. */
const mark = () => {
  const solve = new FormData(form).get("solve");
  for (const input of numbers) input.disabled = input.name === solve;
};

form.addEventListener("input", () => {
  mark();
  clearTimeout(timer);
  timer = setTimeout(() => plan().catch(() => {}), 300);
});
// A disabled field is not sent; what was entered before it was computed still is.
form.addEventListener("submit", () => {
  for (const input of numbers) input.disabled = false;
});
mark();
