/** Works out the plan again while somebody types, and shows it in place. */
const form = document.querySelector("[data-plan]");
const text = document.querySelector("[data-plan-text]");
let timer;
let asked = 0;

const plan = async () => {
  const number = ++asked;
  const fields = new URLSearchParams(new FormData(form));
  fields.set("action", "plan");
  fields.set("fragment", "");
  const reply = await fetch(form.getAttribute("action"), { method: "POST", body: fields });
  const said = await reply.text();
  if (reply.ok && number === asked && text.innerHTML !== said) text.innerHTML = said;
};

/** The field that is computed is not asked for. */
const mark = () => {
  const solve = new FormData(form).get("solve");
  for (const name of ["users", "epsilon", "error"]) form.elements[name].disabled = name === solve;
};

form.addEventListener("input", () => {
  mark();
  clearTimeout(timer);
  timer = setTimeout(() => plan().catch(() => {}), 300);
});
// A disabled field is not sent; what was entered before it was computed still is.
form.addEventListener("submit", () => {
  for (const name of ["users", "epsilon", "error"]) form.elements[name].disabled = false;
});
mark();
