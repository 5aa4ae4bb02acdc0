// @ts-check
// Where answers come from: the server that sent this page. file_source.js has the same for a page with its data in it.

export class AnswerError extends Error {
  /** @param {string} message @param {number} status */
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export class ServerSource {
  constructor() {
    this.token = new URLSearchParams(location.search).get("token") || "";
    this.isFile = false;
    /** How long answers took, the last hundred: for tests and for the curious.
     * @type {{name: string, ms: number}[]} */
    this.times = [];
  }

  /** @param {string} name @param {Object<string, any>} [parameters] @param {{method?: string, body?: string, signal?: AbortSignal}} [options]
   * @returns {Promise<any>} */
  async ask(name, parameters = {}, options = {}) {
    const p = new URLSearchParams();
    for (const [key, value] of Object.entries(parameters)) {
      if (value !== "" && value !== null && value !== undefined)
        p.set(key, String(value));
    }
    const begin = performance.now();
    const answer = await fetch("data/" + name + ("?" + p), {
      method: options.method || "GET", body: options.body, signal: options.signal,
      headers: {Authorization: "Bearer " + this.token}, cache: "no-store",
    });
    const json = await answer.json().catch(() => ({error: "the answer is not JSON"}));
    this.times.push({name, ms: performance.now() - begin});
    if (this.times.length > 100)
      this.times.shift();
    if (!answer.ok)
      throw new AnswerError(json.error || "the server answers " + answer.status, answer.status);
    return json;
  }
}
