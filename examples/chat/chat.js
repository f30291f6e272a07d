// Follows a session, asks the person, and posts the answer. No other script is loaded.
const key = location.hash.slice(1);
const session = crypto.randomUUID();
const base = `/api/sessions/${session}`;
const at = (id) => document.getElementById(id);
const post = (path, body) =>
  fetch(base + path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  });

const waiting = []; // several questions may be open at once, also by one toolCallId; the oldest is shown
let shown = null;

function render() {
  const next = waiting[0] ?? null;
  if (next?.requestId !== shown) {
    // A new request starts afresh: nothing of the last one's state is left on the buttons.
    setBusy(false);
    at("error").textContent = "";
    shown = next?.requestId ?? null;
  }
  at("prompt").hidden = next === null;
  if (next === null) return;
  at("question").textContent = `Allow ${next.toolName} to run?`;
  at("input").textContent = JSON.stringify(next.input, null, 2);
  at("reason").textContent = next.reason ?? "";
}

function setBusy(busy) {
  for (const id of ["approve", "reject"]) at(id).disabled = busy;
}

async function respond(decision) {
  const { requestId } = waiting[0];
  setBusy(true); // no second answer while the first is on its way
  let ok = false;
  try {
    ok = (await post("/respond", { kind: "permission", decision, toolCallId: requestId })).ok;
  } catch {
    ok = false;
  }
  if (ok) {
    dismiss(requestId); // only once it is known to have arrived
  } else if (shown === requestId) {
    at("error").textContent = "Failed — please try again.";
    setBusy(false);
  }
}

function dismiss(requestId) {
  const index = waiting.findIndex((each) => each.requestId === requestId);
  if (index >= 0) waiting.splice(index, 1);
  render();
}

function write(text) {
  const item = document.createElement("li");
  item.textContent = text;
  at("log").append(item);
}

function hear(event) {
  if (event.type === "permission_request") waiting.push(event), render();
  else if (event.type === "permission_resolved") dismiss(event.requestId);
  else if (event.type === "turn.start") write(`you: ${event.message}`);
  else if (event.type === "turn.complete") write(`agent: ${event.text ?? ""}`);
  else if (event.type === "error") write(`error: ${event.message}`);
}

async function follow() {
  let last = "";
  for (;;) {
    try {
      const headers = { authorization: `Bearer ${key}`, ...(last && { "last-event-id": last }) };
      const answer = await fetch(`${base}/stream`, { headers });
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        const frames = (text + part.value).split("\n\n");
        text = frames.pop();
        for (const frame of frames) {
          const id = /^id: (.*)$/m.exec(frame);
          const data = /^data: (.*)$/m.exec(frame);
          if (data) hear(JSON.parse(data[1]));
          if (id) last = id[1];
        }
      }
    } catch {
      // it is followed again from where it was
    }
    await new Promise((done) => setTimeout(done, 500));
  }
}

at("approve").onclick = () => respond("approved");
at("reject").onclick = () => respond("rejected");
at("form").onsubmit = (event) => {
  event.preventDefault();
  post("/stream", { message: at("message").value }).then((answer) => answer.body?.cancel());
  at("message").value = "";
};
follow();
