/** Shows what this browser has sent to this collector, from the client's own storage, and opts out. */
export {};

const place = /** @type {HTMLElement} */ (document.querySelector("#entries"));
const button = /** @type {HTMLButtonElement} */ (document.querySelector("#out"));
/** @type {Record<string, string>} */
const words = JSON.parse(place.dataset["words"] ?? "{}");
const { connect } = await import(place.dataset["client"] ?? "");

/** What the client keeps: by digest the loss and the state. @returns {Record<string, [number, string]>} */
const read = () => {
  try {
    return JSON.parse(localStorage.getItem("deniable") ?? "{}");
  } catch {
    return {};
  }
};

/** Put the question in the place of its digest, where it is still asked. @param {string} digest @param {HTMLElement} link */
const name = async (digest, link) => {
  const reply = await fetch(`/v1/questions/${digest}`).catch(() => undefined);
  const asked = reply?.ok ? (await reply.json()).name : "";
  if (typeof asked === "string" && asked) link.textContent = asked.length > 80 ? `${asked.slice(0, 79)}…` : asked;
};

const show = () => {
  const kept = read();
  const out = "out" in kept;
  const found = Object.entries(kept).filter(([digest]) => digest !== "out");
  place.replaceChildren();
  const sentence = document.createElement("p");
  const spent = found.reduce((sum, [, [loss]]) => sum + loss, 0);
  const said = words[["ledger_none", "ledger_one"][found.length] ?? "ledger_some"];
  sentence.textContent = (said ?? "").replace("{count}", String(found.length)).replace("{spent}", String(+spent.toFixed(3)));
  place.append(sentence);
  const list = document.createElement("ul");
  for (const [digest, [loss, state]] of found) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = `/try/${digest}`;
    link.textContent = digest.slice(0, 16);
    name(digest, link);
    item.append(link, `: ε = ${+loss.toFixed(3)}, ${words[`state_${state}`] ?? state}`);
    list.append(item);
  }
  if (found.length) place.append(list);
  button.hidden = false;
  button.textContent = (out ? words["opt_in"] : words["opt_out"]) ?? "";
  if (out) {
    const told = document.createElement("p");
    told.textContent = words["is_out"] ?? "";
    place.append(told);
  }
};

button.addEventListener("click", () => {
  connect("").optOut(!("out" in read()));
  show();
});
show();
