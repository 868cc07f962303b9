/** Rows of vectors/delivery.json replayed by a client on a stand-in for a browser, in Node and in browsers alike. */
import { Browser, settle } from "./browser.js";

const BODY = Array.from({ length: 17 }, (_, i) => (7 * i) % 256);
const DIGEST = "d".repeat(64);
/** Redirects that a browser does not follow come without their status; others come as they are. */
const OPAQUE = [301, 302, 303, 307, 308];

/** What the network makes of an event. */
const happens = (event) => async () => {
  if (event === "timeout") throw new DOMException("signal timed out", "TimeoutError");
  if (event === "cut") throw new TypeError("Failed to fetch");
  const { status, type, retry_after, body, ...window } = event;
  const headers = retry_after === undefined ? {} : { "Retry-After": retry_after };
  if (OPAQUE.includes(status)) {
    return { status: 0, type: "opaqueredirect", headers: new Headers(headers), json: () => Promise.reject(new TypeError()) };
  }
  const problem = type === undefined ? "<html>a proxy</html>" : JSON.stringify({ type: `urn:deniable:${type}`, ...window });
  return new Response([204, 304].includes(status) ? null : (body ?? problem), { status, headers });
};

/** The entry that a client keeps of a state, or of a mark. */
const entryOf = (state) =>
  typeof state === "string" ? [1, state] : [1, "waiting", state.day ?? "", BODY, state.doubt, state.since];

/** The state that an entry keeps. */
const stateOf = ([, , day, body, doubt, since]) => {
  if (`${body}` !== `${BODY}`) throw new Error(`the bytes changed: ${body}`);
  return { day: day || null, doubt: !!doubt, since: since ?? null };
};

/** The steps of one delivery after the other: a step that does not wait goes on with the next. */
const deliveries = (steps) => {
  const groups = [[]];
  for (const step of steps) {
    groups.at(-1).push(step);
    if (step.wait !== 0) groups.push([]);
  }
  return groups.filter((group) => group.length);
};

/** Replay a row; return what differs. */
export const deliver = async (connect, { steps }) => {
  const wrong = [];
  const expect = (what, found, wanted) => {
    if (JSON.stringify(found) !== JSON.stringify(wanted)) {
      wrong.push(`${what}: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);
    }
  };
  const browser = new Browser();
  browser.items.set("deniable", JSON.stringify({ [DIGEST]: entryOf(steps[0].state) }));
  for (const group of deliveries(steps)) {
    const page = browser.open();
    const { outcome, next, wait } = group.at(-1);
    const marked = typeof group[0].state === "string";
    Object.assign(browser, { today: group[0].today, online: group[0].event !== "offline", sent: [], written: [] });
    browser.replies = group.filter(({ event }) => event && event !== "offline").map(({ event }) => happens(event));
    // What is sent at once after the last step is not answered: only that it is sent counts.
    if (wait === 0) browser.replies.push(() => new Promise(() => {}));
    const client = connect("https://collector.example", { platform: page.platform });
    const before = browser.state;
    const said = await Promise.race([client.resume(DIGEST), settle().then(() => "nothing yet")]);

    const days = group.map(({ sent }) => sent).filter((day) => day !== null);
    expect("sent", browser.sent.map(({ url }) => url.split("=")[1]), wait === 0 ? [...days, next.day] : days);
    for (const { body, options } of browser.sent) {
      expect("bytes", body, BODY);
      expect("redirect", options.redirect, "manual");
    }
    expect("outcome", said, wait === 0 ? "nothing yet" : outcome);
    if (marked) expect("mark", browser.state, before);
    else if (next === null) expect("mark", browser.state[DIGEST], [1, outcome]);
    else {
      // Before an attempt at once, the state is kept as it is, and then as one that is on its way.
      const text = wait === 0 ? browser.written.at(-3) : browser.items.get("deniable");
      expect("next", stateOf(JSON.parse(text)[DIGEST]), next);
    }
    const timers = page.timers.map(({ milliseconds }) => milliseconds);
    // A page waits at most 100 s, up to twice as long as it must; what takes longer is for the next page.
    const late = timers.length === 1 ? timers[0] >= 1000 * wait : wait >= 50;
    if (wait ? !late : timers.length) wrong.push(`waits ${timers} ms, not ${wait} s`);
  }
  return wrong;
};
