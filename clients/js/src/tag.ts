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
import type { connecting } from "./client.ts";
import type { Kind } from "./kinds.ts";

type Tag = HTMLScriptElement & { wire?: () => void };

/** Start a tag with a client for its kind of answers; returns what to do when the page has changed. */
const run = <Answer>(
  tag: Tag,
  connect: ReturnType<typeof connecting<Answer>>,
  { asked, prepare, written }: Kind<Answer>,
): (() => void) => {
  const { answer, budget, ceiling, cells, collector = "", debug, document: url, form: selector, question: digest, segment } =
    tag.dataset;
  let state = "";
  let give: ((given: Answer, explicit: boolean) => unknown) | undefined;
  let says: object | undefined;
  let prepared: unknown;

  /** Enable the form if it exists, and show the state. */
  const wire = (): void => {
    const form = document.querySelector<HTMLFormElement>(selector!);
    if (!form || !state) return;
    if (says && prepared !== form) prepare?.((prepared = form), says);
    const status = form.querySelector("[role=status]");
    const words = form.getAttribute(`data-${state}`) ?? state;
    form.querySelector("button")!.disabled = !give;
    // Write only changes: the page is watched for them.
    if (status && status.textContent !== words) status.textContent = words;
  };
  const say = (detail: unknown): void => {
    state = (detail as Error).name ? (console.warn(detail), "failed") : (detail as string);
    wire();
    tag.dispatchEvent(new CustomEvent("deniable", { detail }));
  };
  document.addEventListener("submit", (event) => {
    const form = event.target as HTMLFormElement;
    if (tag.isConnected && form.matches(selector!)) {
      event.preventDefault();
      const given = asked(form);
      if (given != null) give?.(given, event.isTrusted);
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
    const stated = Object.fromEntries(new URLSearchParams(segment));
    // A wrong one is told to whoever makes the page, before a person answers.
    question.cell(stated);
    const turn = await client.turn(question);
    const send = (given: Answer, explicit: boolean) =>
      client.answer(question, given, { explicit, segment: stated }).then(say, say);
    says = question.says;
    if (!turn) give = send;
    state = turn || "ready";
    wire();
    if (answer != null) send(written(answer), false);
    const before = await earlier;
    // Of a question that is asked again, what became of an earlier turn says nothing about this one.
    if (before && (!question.repeat || before === "waiting")) state = before;
    wire();
  };
  start().catch(say);
  return wire;
};

/** Start every tag of the page for a kind of answers, now and later, and wire up new forms. */
export const start = <Answer>(
  name: string | undefined,
  connect: ReturnType<typeof connecting<Answer>>,
  kind: Kind<Answer>,
): void => {
  // Another build may be on the page, for another kind.
  const scan = (): void =>
    document.querySelectorAll<Tag>("script[data-question]").forEach((tag) => {
      if (tag.dataset["kind"] === name) (tag.wire ??= run(tag, connect, kind))();
    });
  // Tags and forms may be added later. Outside of a page there are none.
  if (globalThis.document) {
    new MutationObserver(scan).observe(document, { childList: true, subtree: true });
    scan();
  }
};
