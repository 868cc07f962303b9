/** Copies the text of the element that a button names. */
for (const button of document.querySelectorAll("[data-copy]")) {
  const said = button.textContent;
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = said), 2000);
  });
}
