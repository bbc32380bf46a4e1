"""OpenAI's Python package against a gateway: prints one line of JSON that says what each call gave."""

import json
import sys

from openai import APIStatusError, OpenAI
from pydantic import BaseModel

client = OpenAI(base_url=sys.argv[1], api_key=sys.argv[2], max_retries=2)
user = [{"role": "user", "content": "where is it?"}]
look = {
    "type": "function",
    "function": {
        "name": "look",
        "parameters": {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]},
    },
}


class Place(BaseModel):
    city: str
    people: int


def refused(call):
    try:
        call()
    except APIStatusError as error:
        return [error.status_code, error.code, error.param]
    return "was not refused"


seen = {}
seen["text"] = client.chat.completions.create(model="default", messages=user).choices[0].message.content
stream = client.chat.completions.create(model="default", messages=user, stream=True)
seen["streamed"] = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)

asked = client.chat.completions.create(model="default", messages=user, tools=[look]).choices[0]
call = asked.message.tool_calls[0]
seen["call"] = [asked.finish_reason, call.function.name, json.loads(call.function.arguments)]
result = {"role": "tool", "tool_call_id": call.id, "content": "a cat"}
after = client.chat.completions.create(model="default", messages=[*user, asked.message, result], tools=[look])
seen["after"] = after.choices[0].message.content

parsed = client.chat.completions.parse(model="default", messages=user, response_format=Place)
seen["parsed"] = parsed.choices[0].message.parsed.model_dump()
seen["response"] = client.responses.create(model="default", input="where is it?").output_text
with client.responses.stream(model="default", input="where is it?") as events:
    seen["response streamed"] = "".join(e.delta for e in events if e.type == "response.output_text.delta")
seen["vectors"] = len(client.embeddings.create(model="default", input=["one", "two"]).data)
seen["model"] = client.models.retrieve("default").id
seen["refused"] = refused(lambda: client.chat.completions.create(model="default", messages=user, n=2))
headers = {"X-Session-Id": "python"}
seen["failed"] = refused(lambda: client.chat.completions.create(model="default", messages=user, extra_headers=headers))
print(json.dumps(seen))
