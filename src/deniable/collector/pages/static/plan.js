/**
 * Works the plan out again while somebody types, shows the number that is solved for in its field,
 * counts the answers, and keeps a draft until the question is created, whatever ends the session.
 */
export {};

const DRAFT = "deniable-draft";
const STEPS = [0.25, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5];
/** Up to so many answers can be ordered by hand. */
const ORDERED = 100;
const form = /** @type {HTMLFormElement} */ (document.querySelector("[data-plan]"));
const text = /** @type {HTMLElement} */ (document.querySelector("[data-plan-text]"));
const counter = /** @type {HTMLElement | null} */ (document.querySelector("[data-counter]"));
const word = /** @type {HTMLElement} */ (document.querySelector("[data-word]"));
/** @param {string} name */
const field = (name) => /** @type {HTMLInputElement} */ (form.elements.namedItem(name));
/** The numbers of which one is solved for. */
const numbers = ["users", "epsilon", "error"].map(field);
let timer = 0;
let asked = 0;

/** Return what the form would send. */
const fields = () => {
  const found = new URLSearchParams();
  new FormData(form).forEach((value, name) => found.set(name, String(value)));
  for (const input of numbers) found.set(input.name, input.value);
  return found;
};

const plan = async () => {
  const number = ++asked;
  const body = fields();
  body.set("action", "plan");
  body.set("fragment", "");
  const slow = setTimeout(() => number === asked && text.setAttribute("aria-busy", "true"), 400);
  const reply = await fetch("/new", { method: "POST", body, redirect: "manual" }).catch(() => undefined);
  clearTimeout(slow);
  if (number !== asked) return;
  text.removeAttribute("aria-busy");
  if (!reply?.ok) {
    text.textContent = "This could not be worked out anew: the collector did not answer, or the session has ended. What you entered is kept here.";
    return;
  }
  text.innerHTML = await reply.text();
  const solved = text.querySelector("[data-solved]")?.getAttribute("data-solved");
  if (solved) field(String(new FormData(form).get("solve"))).value = solved;
  describe();
};

/** Say how many answers there are, and which is there twice. */
const describe = () => {
  const epsilon = Number(field("epsilon").value);
  word.textContent = !(epsilon > 0) ? "" : epsilon <= 1 ? "Strong" : epsilon <= 3 ? "Medium" : epsilon <= 5 ? "Weak" : "Very weak";
  slider.value = String(STEPS.filter((step) => step <= epsilon).length - 1);
  if (!counter) return;
  arrange();
  const lines = field("labels").value.split("\n").map((line) => line.trim()).filter(Boolean);
  const seen = new Set();
  const twice = lines.find((line) => seen.has(line) || !seen.add(line));
  const count = `${lines.length.toLocaleString("en")} answer${lines.length === 1 ? "" : "s"}`;
  counter.replaceChildren(twice ? `${count}. “${twice.slice(0, 60)}” is in the list twice. ` : lines.length ? count : "");
  const commas = lines.filter((line) => line.includes(",")).length;
  if (twice) offer("Remove repeats", [...new Set(lines)]);
  else if (lines.length === 1 && commas) offer("Split at the commas", lines.join().split(",").map((each) => each.trim()).filter(Boolean));
  else if (lines.length > 1 && commas === lines.length) offer("Keep only what stands before the commas", lines.map((line) => line.split(",")[0]?.trim() ?? ""));
};

/** Let answers be put in another order, by dragging them or by buttons. */
const order = document.createElement("details");
const sortable = document.createElement("ol");
sortable.className = "order";
order.append(Object.assign(document.createElement("summary"), { className: "small", textContent: "Change the order" }), sortable);
order.addEventListener("toggle", () => arrange());

/** @param {string[]} lines */
const reorder = (lines) => {
  field("labels").value = lines.join("\n");
  changed();
};

/** Show the answers as a list, and put the focus on a button if one was pressed. @param {string} [focus] */
const arrange = (focus) => {
  const lines = field("labels").value.split("\n").map((line) => line.trim()).filter(Boolean);
  order.hidden = lines.length < 2 || lines.length > ORDERED;
  if (!order.open || order.hidden) return;
  /** @param {number} from @param {number} to */
  const move = (from, to) => {
    lines.splice(to, 0, ...lines.splice(from, 1));
    reorder(lines);
  };
  sortable.replaceChildren(
    ...lines.map((line, at) => {
      const item = document.createElement("li");
      item.draggable = true;
      item.append(Object.assign(document.createElement("span"), { textContent: line.slice(0, 200) }));
      for (const [sign, step, said] of /** @type {[string, number, string][]} */ ([["↑", -1, "up"], ["↓", 1, "down"]])) {
        const button = Object.assign(document.createElement("button"), { type: "button", className: "second slim", textContent: sign });
        button.id = `${said}-${at}`;
        button.setAttribute("aria-label", `Move ${line.slice(0, 60)} ${said}`);
        button.disabled = !(at + step in lines);
        button.addEventListener("click", () => {
          move(at, at + step);
          arrange(`${said}-${at + step}`);
        });
        item.append(button);
      }
      item.addEventListener("dragstart", (event) => {
        event.dataTransfer?.setData("text/plain", String(at));
        item.classList.add("moving");
      });
      item.addEventListener("dragend", () => item.classList.remove("moving"));
      item.addEventListener("dragover", (event) => event.preventDefault());
      item.addEventListener("drop", (event) => {
        event.preventDefault();
        const from = Number(event.dataTransfer?.getData("text/plain") || -1);
        if (from in lines) move(from, at);
      });
      return item;
    }),
  );
  if (focus) document.getElementById(focus)?.focus();
};

/** @param {string} title @param {string[]} lines */
const offer = (title, lines) => {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "second slim";
  button.textContent = title;
  button.addEventListener("click", () => reorder(lines));
  counter?.append(" ", button);
};

/** Show the fields of the chosen kind, and which number is solved for. */
const mark = () => {
  const found = new FormData(form);
  for (const part of /** @type {NodeListOf<HTMLElement>} */ (form.querySelectorAll("[data-kind]")))
    part.hidden = part.dataset["kind"] !== found.get("kind");
  for (const input of numbers) input.readOnly = input.name === found.get("solve");
  slider.disabled = found.get("solve") === "epsilon";
};

const changed = () => {
  mark();
  describe();
  try {
    sessionStorage.setItem(DRAFT, fields().toString());
  } catch {}
  clearTimeout(timer);
  timer = setTimeout(plan, 300);
};

const slider = document.createElement("input");
slider.type = "range";
slider.min = "0";
slider.max = String(STEPS.length - 1);
slider.setAttribute("aria-label", "Privacy, from strong to weak");
slider.addEventListener("input", (event) => {
  event.stopPropagation();
  field("epsilon").value = String(STEPS[Number(slider.value)] ?? 1);
  changed();
});
field("epsilon").before(slider);
counter?.after(order);

/** Fill in what was entered before a session ended. */
const restore = () => {
  const kept = new URLSearchParams(sessionStorage.getItem(DRAFT) ?? "");
  if (field("name").value || field("labels").value || (!kept.get("name") && !kept.get("labels"))) return;
  kept.forEach((value, name) => {
    const found = form.elements.namedItem(name);
    if (found instanceof RadioNodeList) found.value = value;
    else if (found && "value" in found) /** @type {HTMLInputElement} */ (found).value = value;
  });
  for (const part of form.querySelectorAll("details"))
    part.open ||= [.../** @type {NodeListOf<HTMLInputElement>} */ (part.querySelectorAll("input, textarea"))].some((input) => input.value !== input.defaultValue);
  timer = setTimeout(plan, 0);
};

form.addEventListener("input", changed);
form.addEventListener("submit", (event) => {
  const pressed = /** @type {SubmitEvent} */ (event).submitter;
  if (pressed?.getAttribute("value") === "create") sessionStorage.setItem(`${DRAFT}-sent`, "yes");
});
try {
  restore();
} catch {}
mark();
describe();
