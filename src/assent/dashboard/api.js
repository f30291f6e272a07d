// Client of the public API. The session cookie authenticates; the browser's headers prove the origin.

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

let onLoggedOut = () => {};

// Call a function when the session has ended.
export function whenLoggedOut(action) {
  onLoggedOut = action;
}

// Keep integers that JavaScript would round as they were written.
const exact = (_name, value, { source } = {}) => (typeof value === "number" && /^-?\d+$/.test(source) && !Number.isSafeInteger(value) ? JSON.rawJSON(source) : value);
export const parse = (text) => JSON.parse(text, JSON.rawJSON && /\d{16}/.test(text) ? exact : undefined);

async function ask(method, path, body, signal) {
  let answer;
  try {
    answer = await fetch(path, {
      method,
      signal,
      headers: body === undefined ? {} : { "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "Can't reach the daemon. Nothing was changed.");
  }
  const said = await answer.text().then(parse).catch(() => ({}));
  if (answer.ok) return said;
  if (answer.status === 401 && path !== "/api/login") onLoggedOut();
  throw new ApiError(answer.status, said.detail ? `${said.error}: ${said.detail}` : said.error || `The daemon answered with status ${answer.status}.`);
}

export const get = (path, parameters, signal) => ask("GET", withQuery(path, parameters), undefined, signal);
export const post = (path, body, signal) => ask("POST", path, body, signal);
export const remove = (path) => ask("DELETE", path);

export function withQuery(path, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}
