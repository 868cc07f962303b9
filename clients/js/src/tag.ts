/**
 * The client as a tag, configured by its data attributes:
 *
 *     <script type="module" src="deniable.js" data-collector="https://collector.example"
 *       data-question="DIGEST" data-form="#survey"></script>
 *
 * `data-form` answers with the field `answer` of a form when a person submits it; `data-answer` is an
 * answer that the page knows by itself. `data-document` is another address of the question,
 * `data-debug` shows on the console what leaves. The tag gets an event `deniable` with the outcome.
 */
import { BUDGET, connect } from "./client.ts";
import { DeniableError } from "./errors.ts";
import { CEILING } from "./question.ts";

const run = (tag: HTMLScriptElement): void => {
  const { answer, budget, ceiling, collector = "", debug, document: url, form, question = "" } = tag.dataset;
  const client = connect(collector, {
    budget: +(budget ?? BUDGET),
    ceiling: +(ceiling ?? CEILING),
    inspect: debug != null && console.log,
  });
  const load = () => client.load(question, url);
  const give = (label: string, explicit: boolean): unknown =>
    load()
      .then((question) => client.answer(question, label, explicit))
      .catch((error) => {
        // The network failed before anything was drawn: the page still knows the answer.
        const again = () => give(label, explicit);
        if (!(error instanceof DeniableError)) addEventListener("online", again, { once: true });
        return error;
      })
      .then((detail) => tag.dispatchEvent(new CustomEvent("deniable", { detail })));

  if (form) {
    load().catch(() => {}); // so that the browser has it, should it be offline at the answer
    document.querySelector<HTMLFormElement>(form)!.addEventListener("submit", (event) => {
      event.preventDefault();
      give(new FormData(event.target as HTMLFormElement).get("answer") as string, event.isTrusted);
    });
  }
  if (answer != null) give(answer, false);
  else void client.resume(question);
};

/** Run every tag of the page; there is none where the client is imported. */
export const attach = (): void =>
  globalThis.document?.querySelectorAll<HTMLScriptElement>("script[data-question]").forEach(run);
