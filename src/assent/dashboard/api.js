// The public API, as a page of our own uses it: the cookie says who we are, and the browser says where we come from.

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

let onLeave = () => {};

// Has a function called when the session turns out to have ended.
export function whenLoggedOut(action) {
  onLeave = action;
}

// A number that this language would round is kept as it was written: what is shown is what was asked.
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
    throw new ApiError(0, "The daemon can not be reached. Nothing was done.");
  }
  const said = await answer.text().then(parse).catch(() => ({}));
  if (answer.ok) return said;
  if (answer.status === 401 && path !== "/api/login") onLeave();
  throw new ApiError(answer.status, said.detail ? `${said.error}: ${said.detail}` : said.error || `The daemon said ${answer.status}.`);
}

export const get = (path, parameters, signal) => ask("GET", withQuery(path, parameters), undefined, signal);
export const post = (path, body, signal) => ask("POST", path, body, signal);
export const remove = (path) => ask("DELETE", path);

export function withQuery(path, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}
