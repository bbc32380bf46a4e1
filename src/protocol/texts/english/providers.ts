/** What failed at a model server, for those who run the gateway; everybody else reads `failure.…`. */

export const providers = {
  'provider.some_server': 'an OpenAI-compatible server',
  'provider.the_server': 'the model server',
  'provider.start_ollama': 'start it with `ollama serve`',
  'provider.start_server': 'start the server',
  'provider.closed': 'The connections to {server} were closed.',
  'provider.broke_midway': 'The connection to {server} broke in the middle of the answer.',
  'provider.not_http': '{host} does not speak HTTP: {setting} must name {server}.',
  'provider.no_answer':
    'No model server answers at {host} ({code}): {start}, or set {setting} to where it runs.',
  'provider.connection_failed': 'connection failed',
  'provider.unreadable': '{server} at {host} sent an answer that cannot be read.',
  'provider.slow': '{server} at {host} did not answer within {seconds} s: check the server {setting} names.',
  'provider.queue_full':
    '{most} calls are already waiting for {server}: try again later, or raise {setting}.',
  'provider.stopped': 'The model call was stopped.',
  'provider.stopped_waiting': 'The model call was stopped while it waited for its turn.',

  'provider.prompt_too_long': 'The prompt does not fit the window of "{model}": {reason}',
  'provider.little_memory':
    'The machine of the model server at {host} has too little memory for "{model}": {reason}',
  'provider.refused': '{host} refused the call ({status}): {reason}',
  'provider.answered': 'The model server at {host} ({setting}) answered {status}: {reason}',
  'provider.answered_later':
    'The model server at {host} ({setting}) answered {status}: {reason} It asks clients to try again in {time}.',
  'provider.key_refused': '{host} refused the key ({status}): set {setting}. It says: {reason}',
  'provider.access_refused':
    '{host} refused access ({status}): check {setting} and its key, or run `ollama signin` there. It says: {reason}',
  'provider.not_signed_in':
    'Ollama at {host} is not signed in for its cloud models ({status}): run `ollama signin` there, or open {url}.',
  'provider.access_forbidden': 'Ollama at {host} refused access ({status}): {reason}',
  'provider.not_openai':
    '{host} answered {status}: {setting} must name an OpenAI-compatible API, usually an address that ends in /v1.',
  'provider.not_ollama': '{host} answered {status}, unlike Ollama: {setting} must name an Ollama server.',
  'provider.openai_broke_off': 'The model server at {host} broke off its answer: {reason}',
  'provider.broke_off': 'The model server broke off its answer ({reason}).',
  'provider.ollama_broke_off': 'Ollama broke off its answer: {reason}',
  'provider.ollama_failed': 'Ollama broke off its answer ({reason}).',

  'provider.no_model':
    'The server at {host} has no model "{model}": load it there, or name another in MODEL.',
  'provider.no_model_has':
    'The server at {host} has no model "{model}": load it there, or set MODEL to one it has: {models}.',
  'provider.ollama_no_model':
    'Ollama at {host} has no model "{model}": fetch it with `ollama pull {model}`, or name another.',
  'provider.no_models':
    'The model server has no model yet: fetch one (for Ollama: ollama pull llama3.2) or set MODEL.',
  'provider.no_chat_models':
    'None of the models on the server can chat: fetch one that can (for Ollama: ollama pull llama3.2) or set MODEL.',
  'provider.unconfigured': 'No provider "{provider}" is configured.',
  'provider.needs_setting':
    '"{name}" is a model of the provider "{provider}", and none is configured: set {needs}, or write providers.{provider} into config.json.',
  'provider.needs_ollama': 'OLLAMA_HOST to where it is',
  'provider.needs_openai': 'OPENAI_BASE_URL to where it is (or OPENAI_API_KEY for OpenAI itself)',
  'provider.not_configured':
    '"{name}" names the provider "{provider}", which is not configured: write providers.{provider} into config.json, or use one of {known}. A model of {usual} with a slash in its name is called {usual}/{provider}/….',

  'provider.silent_first':
    'The model did not begin to answer within {seconds} s (LLM_STREAM_FIRST_CHUNK_TIMEOUT).',
  'provider.silent': 'The model sent nothing for {seconds} s (LLM_STREAM_CHUNK_TIMEOUT).',
  'provider.not_json': 'The model server sent an answer that is not JSON.',
  'provider.bad_line': 'The model server sent a line that is not a JSON object: {line}',
  'provider.no_event': 'The model server sent a line that is not a server-sent event.',
  'provider.data_not_json': 'The model server sent data that is not JSON.',
  'provider.no_object': 'The model server sent data that is not a JSON object.',
  'provider.not_an_answer': 'The model server sent JSON that is not a model answer.',
  'provider.too_much': 'The model server sent more than {bytes} bytes.',
  'provider.long_line': 'The model server sent a line longer than {bytes} bytes.',
  'provider.ended_early': 'The model server ended its answer before it was complete.',
  'provider.no_call': 'The model did not call a tool, although it was required to.',
  'provider.echo_too_long':
    "What the model's server wants back of its answer (signatures, encrypted thoughts) exceeds {most} bytes.",
  'provider.calls_too_long': "The model's tool calls exceed {most} characters.",
} as const;
