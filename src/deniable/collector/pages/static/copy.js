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
