// Trades the code behind the `#` for a session. The code is never part of a request's address.
const status = document.getElementById("status");
const code = location.hash.slice(1);
history.replaceState(null, "", location.pathname);

async function logIn() {
  if (!code) {
    status.textContent = "This page needs a one-time link. Make one with: assent token link";
    return;
  }
  const answer = await fetch("/api/login", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
  if (answer.ok) {
    location.replace("/");
  } else {
    const said = await answer.json().catch(() => ({}));
    status.textContent = said.error || "The login failed.";
  }
}

logIn().catch(() => {
  status.textContent = "The daemon can not be reached.";
});
