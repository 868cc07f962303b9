/** A browser to test the client in: storage, locks, clock and network, all in memory and in our hands. */

export class Browser {
  constructor() {
    this.items = new Map();
    this.today = "2026-03-01";
    this.online = true;
    this.signal = undefined;
    this.sent = [];
    /** What was written to storage, one text after the other. */
    this.written = [];
    /** What the network does with each request in turn: a status, a function, or "lost". */
    this.replies = [];
    this.queue = Promise.resolve();
    /** How many characters storage still takes. */
    this.room = Infinity;
  }

  /** The state that the client keeps, and the entry of a question in it. */
  get state() {
    return JSON.parse(this.items.get("deniable") ?? "{}");
  }

  /** What a page in this browser sees; two pages share storage and locks. */
  open({ locks = true, blocked = false, full = false } = {}) {
    const browser = this;
    const page = { timers: [], listeners: [] };
    const navigator = {
      get onLine() {
        return browser.online;
      },
      get globalPrivacyControl() {
        return browser.signal;
      },
    };
    if (locks) navigator.locks = { request: (_, work) => (this.queue = this.queue.then(() => work({}))) };
    const storage = {
      getItem: (key) => this.items.get(key) ?? null,
      setItem(key, value) {
        const old = browser.items.get(key)?.length ?? 0;
        if (full || value.length - old > browser.room) throw new Error("QuotaExceededError");
        browser.room -= value.length - old;
        browser.items.set(key, value);
        browser.written.push(value);
      },
      removeItem(key) {
        browser.room += browser.items.get(key)?.length ?? 0;
        browser.items.delete(key);
      },
    };
    page.platform = {
      crypto,
      navigator,
      Date: class {
        toJSON = () => `${browser.today}T23:59:59.000Z`;
      },
      get localStorage() {
        if (blocked) throw new Error("SecurityError");
        return storage;
      },
      fetch: async (url, options = {}) => this.receive(url, options),
      setTimeout: (work, milliseconds) => page.timers.push({ work, milliseconds }),
      addEventListener: (name, work) => page.listeners.push({ name, work }),
    };
    return page;
  }

  async receive(url, options) {
    if (options.method === "POST") this.sent.push({ url, options, body: [...options.body] });
    const reply = this.replies.shift() ?? 204;
    if (typeof reply === "function") return reply(url, options);
    if (reply === "lost") throw new TypeError("Failed to fetch");
    if (reply === 422) return Response.json({ first: "2026-03-03", last: "2026-03-11" }, { status: 422 });
    return new Response(null, { status: reply, headers: reply === 503 ? { "Retry-After": "7" } : {} });
  }
}

/** Let everything that can go on go on: promises, WebCrypto included. */
export const settle = async () => {
  const later = globalThis.setImmediate ?? setTimeout;
  for (let i = 0; i < 20; i++) await new Promise((resolve) => later(resolve));
};

/** Let the last timer of a page run out, or an event happen to it. */
export const elapse = async (page) => {
  page.timers.pop().work();
  await settle();
};

export const happen = async (page, event) => {
  for (const { name, work } of page.listeners.splice(0)) if (name === event) work();
  await settle();
};
