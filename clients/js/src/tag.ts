/**
 * The client as a tag, configured by its data attributes:
 *
 *     <script type="module" src="deniable.js" data-collector="https://collector.example"
 *       data-question="DIGEST" data-form="#survey"></script>
 *
 * `data-form` answers with the field of a form when a person submits it; `data-answer` is an answer
 * that the page already knows. `data-segment`, such as `platform=linux&arm=A`, says to which public groups
 * the visitor belongs. `data-document` is another address of the question, and `data-debug` logs what leaves.
 * The tag fires an event `deniable` with the outcome.
 *
 * The button of the form is enabled when the question has been loaded. The form's element with the
 * role `status` shows the state, in the words of the form's attribute `data-` and the state.
 */
import { connect } from "./client.ts";

type Tag = HTMLScriptElement & { wire?: () => void };

/** Start a tag; returns what to do when the page has changed. */
const run = (tag: Tag): (() => void) => {
  const { answer, budget, ceiling, cells, collector = "", debug, document: url, form: selector, question: digest, segment } =
    tag.dataset;
  let state = "";
  let give: ((label: string, explicit: boolean) => unknown) | undefined;

  /** Enable the form if it exists, and show the state. */
  const wire = (): void => {
    const form = document.querySelector(selector!);
    if (!form || !state) return;
    const status = form.querySelector("[role=status]");
    const words = form.getAttribute(`data-${state}`) ?? state;
    form.querySelector("button")!.disabled = !give;
    // Write only changes: the page is watched for them.
    if (status && status.textContent !== words) status.textContent = words;
  };
  const say = (detail: unknown): void => {
    state = (detail as Error).name ? "failed" : (detail as string);
    wire();
    tag.dispatchEvent(new CustomEvent("deniable", { detail }));
  };
  document.addEventListener("submit", (event) => {
    const form = event.target as HTMLFormElement;
    if (tag.isConnected && form.matches(selector!)) {
      event.preventDefault();
      const field = form.querySelector<HTMLInputElement>(":checked:enabled,[type=text]");
      if (field) give?.(field.value, event.isTrusted);
    }
  });
  const start = async (): Promise<void> => {
    const client = connect(collector, {
      budget: (budget && +budget) as number,
      ceiling: (ceiling && +ceiling) as number,
      cells: (cells && +cells) as number,
      inspect: debug != null && console.log,
    });
    const earlier = client.resume(digest!);
    const question = await client.load(digest!, url);
    const turn = await client.turn(question);
    const stated = segment && Object.fromEntries(new URLSearchParams(segment));
    const send = (label: string, explicit: boolean) =>
      client.answer(question, label, { explicit, segment: stated || undefined }).then(say, say);
    if (!turn) give = send;
    state = turn || "ready";
    wire();
    if (answer != null) send(answer, false);
    const before = await earlier;
    // Of a question that is asked again, what became of an earlier turn says nothing about this one.
    if (before && (!question.repeat || before === "waiting")) state = before;
    wire();
  };
  start().catch(say);
  return wire;
};

/** Start every new tag of the page, and wire up new forms. */
export const scan = (): void =>
  document.querySelectorAll<Tag>("script[data-question]").forEach((tag) => (tag.wire ??= run(tag))());
