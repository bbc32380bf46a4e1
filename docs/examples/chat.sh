#!/bin/sh
# Asks one question and prints what the gateway answers: sh docs/examples/chat.sh "What is new?"
set -eu
: "${TOKEN:?Set TOKEN to a token of the gateway: npx parley token create NAME}"
question=$(printf '%s' "${1:-Hello!}" | sed 's/\\/\\\\/g; s/"/\\"/g')

curl -sS --fail-with-body "${GATEWAY:-http://127.0.0.1:8080}/v1/chat/completions" \
  -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -H 'X-Session-Id: example' \
  -d "{\"model\": \"default\", \"messages\": [{\"role\": \"user\", \"content\": \"$question\"}]}"
