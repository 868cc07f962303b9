/** A browser to test the client in: storage, locks, clock and network, all in memory and in our hands. */

export class Browser {
  constructor() {
    this.items = new Map();
    this.today = "2026-03-01";
    this.online = true;
    this.signal = undefined;
    this.sent = [];
    /** What the network does with each request in turn: a status, a function, or "lost". */
    this.replies = [];
    this.queue = Promise.resolve();
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
        if (full) throw new Error("QuotaExceededError");
        browser.items.set(key, value);
      },
    };
    page.platform = {
      crypto,
      navigator,
      Date: class {
        toISOString = () => `${browser.today}T23:59:59.000Z`;
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
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
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
