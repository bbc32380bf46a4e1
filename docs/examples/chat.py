"""Asks one question and prints the answer while it grows: python3 docs/examples/chat.py "What is new?" """

import json
import os
import sys
import urllib.request
import uuid

GATEWAY = os.environ.get("GATEWAY", "http://127.0.0.1:8080")
TOKEN = os.environ.get("TOKEN") or sys.exit("Set TOKEN to a token of the gateway: npx parley token create NAME")
SESSION = f"{GATEWAY}/v1/sessions/http:example"


def ask(url, body=None, **headers):
    """Opens a request; an error's text says what to do."""
    data = None if body is None else json.dumps(body).encode()
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    headers |= {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    try:
        return urllib.request.urlopen(urllib.request.Request(url, data, headers))
    except urllib.error.HTTPError as error:
        sys.exit(json.load(error)["error"]["message"])
    except urllib.error.URLError as error:
        sys.exit(f"No gateway answers at {GATEWAY}: {error.reason}")


text = sys.argv[1] if len(sys.argv) > 1 else "Hello!"
# With a key of its own, the message may be sent again after a broken connection: it is one message.
sent = json.load(ask(f"{SESSION}/messages", {"content": text}, Idempotency_Key=str(uuid.uuid4())))
if "handled" in sent:
    sys.exit(print(sent["reply"]))

# From the message on: the answer may have begun already.
for line in ask(f"{SESSION}/events", Last_Event_ID=sent["lastEventId"]):
    if not line.startswith(b"data: "):
        continue
    event = json.loads(line[6:])
    if event.get("turnId") != sent["turnId"]:
        continue
    if event["type"] == "stream_chunk":
        print(event["delta"], end="", flush=True)
    if event["type"] == "turn_ended":
        break
print()
