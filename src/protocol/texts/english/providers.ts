/** What failed at a model server, for those who run the gateway; everybody else reads `failure.…`. */

export const providers = {
  'provider.some_server': 'an OpenAI-compatible server',
  'provider.the_server': 'the model server',
  'provider.start_ollama': 'start it with `ollama serve`',
  'provider.start_server': 'start the server',
  'provider.closed': 'The connections to {server} were closed.',
  'provider.broke_midway': 'The connection to {server} was lost in the middle of the answer.',
  'provider.not_http': '{host} does not speak HTTP: set {setting} to the address of {server}.',
  'provider.not_tls': '{host} does not speak TLS: write http:// instead of https:// in {setting}.',
  'provider.no_answer':
    'No model server answers at {host} ({code}): {start}, or set {setting} to its address.',
  'provider.connection_failed': 'connection failed',
  'provider.unreadable': '{server} at {host} sent an answer that cannot be read.',
  'provider.slow': '{server} at {host} did not answer within {seconds} s: check {setting} and the server.',
  'provider.queue_full':
    '{most} calls are already waiting for {server}: try again later, or raise {setting}.',
  'provider.stopped': 'The model call was stopped.',
  'provider.stopped_waiting': 'The model call was stopped while it waited for its turn.',

  'provider.prompt_too_long': 'The prompt does not fit the window of "{model}": {reason}',
  'provider.little_memory': 'The model server at {host} does not have enough memory for "{model}": {reason}',
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
    '{host} answered {status}: set {setting} to an OpenAI-compatible API, usually an address that ends in /v1.',
  'provider.not_ollama':
    '{host} answered {status}, which Ollama would not: set {setting} to the address of an Ollama server.',
  'provider.openai_broke_off': 'The model server at {host} stopped in the middle of its answer: {reason}',
  'provider.broke_off': 'The model server stopped in the middle of its answer ({reason}).',
  'provider.ollama_broke_off': 'Ollama stopped in the middle of its answer: {reason}',
  'provider.ollama_failed': 'Ollama stopped in the middle of its answer ({reason}).',

  'provider.no_model':
    'The server at {host} has no model "{model}": load it there, or set MODEL to another one.',
  'provider.no_model_has':
    'The server at {host} has no model "{model}": load it there, or set MODEL to one it has: {models}.',
  'provider.ollama_no_model':
    'Ollama at {host} has no model "{model}": download it with `ollama pull {model}`, or choose another one.',
  'provider.no_models':
    'The model server has no model yet: download one (for Ollama: ollama pull llama3.2) or set MODEL.',
  'provider.no_chat_models':
    'None of the models on the server can chat: download one that can (for Ollama: ollama pull llama3.2) or set MODEL.',
  'provider.unconfigured': 'No provider "{provider}" is configured.',
  'provider.needs_setting':
    '"{name}" is a model of the provider "{provider}", and none is configured: set {needs}, or write providers.{provider} into config.json.',
  'provider.needs_ollama': 'OLLAMA_HOST to its address',
  'provider.needs_openai': 'OPENAI_BASE_URL to its address (or OPENAI_API_KEY for OpenAI itself)',
  'provider.not_configured':
    '"{name}" names the provider "{provider}", which is not configured: write providers.{provider} into config.json, or use one of {known}. A model of {usual} with a slash in its name is called {usual}/{provider}/….',

  'provider.silent_first':
    'The model did not start to answer within {seconds} s (LLM_STREAM_FIRST_CHUNK_TIMEOUT).',
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
    'The data that the model server wants back with the next call (signatures, encrypted thoughts) exceeds {most} bytes.',
  'provider.calls_too_long': "The model's tool calls exceed {most} characters.",
} as const;

/*** What people read of errors: nothing about servers, addresses and settings. */
export const failures = {
  'failure.answer': 'Sorry, this could not be answered. {why}',
  'failure.try_in': '{what} Try again in {time}.',
  'failure.timeout_first_chunk': 'The model did not start to answer in time. Please try again.',
  'failure.timeout_first_chunk_plain': 'The model did not start to answer in time.',
  'failure.timeout_chunk': 'The model stopped responding in the middle of its answer. Please try again.',
  'failure.timeout_chunk_plain': 'The model stopped responding in the middle of its answer.',
  'failure.context_overflow':
    'This is too long for the model. Send a shorter message, or start over with {/new}.',
  'failure.message_too_large':
    'This message is too long for the model: it has about {tokens} tokens, and there is room for {room}. Send it in smaller pieces, or choose a model with a larger context window.',
  'failure.window_too_small':
    "The model's context window is too small for this profile's prompt and what the turn has gathered: choose a model with a larger window, or start its server with one.",
  'failure.unavailable': 'The model is not available right now. Please try again later.',
  'failure.unavailable_plain': 'The model is not available right now.',
  'failure.out_of_memory':
    'The model needs more memory than its machine has free. Please try again later, or choose another one.',
  'failure.out_of_memory_plain': 'The model needs more memory than its machine has free.',
  'failure.rate_limited': 'The model is not accepting more requests right now.',
  'failure.quota_exceeded':
    'The quota for the model is used up. The person who runs this gateway has to renew it.',
  'failure.unauthorized': 'The model refuses this gateway. The person who runs it has to check its key.',
  'failure.unknown_model': 'There is no such model here. Choose another one.',
  'failure.bad_request': 'The model cannot serve this request.',
  'failure.bad_response': 'The model sent a broken answer. Please try again.',
  'failure.bad_response_plain': 'The model sent a broken answer.',
  'failure.aborted': 'The model call was stopped.',
  'failure.search_timeout':
    'The search was ended after a second. Search for rarer words, or try again later.',
  'failure.store': 'The gateway cannot reach its database right now. Please try again later.',
  'failure.config': 'The gateway is not configured for this.',
  'failure.in_words': '{what} The server says: {words}',
  'failure.sign_in':
    'The model server is not signed in. The person who runs it has to run `ollama signin` there.',
  'failure.detailed': '{what} ({detail})',

  'time.seconds': '{seconds} s',
  'time.minutes': { one: '{count} minute', other: '{count} minutes' },
  'time.hours': { one: '{count} hour', other: '{count} hours' },
} as const;

/*** What is wrong with settings and profiles: by file and field, in the log, on the command line and on the page. */
export const fileProblems = {
  'problem.nothing_changed': 'Nothing was changed:',
  'problem.starts_programs':
    'decides which programs run as the gateway, so it is changed only on its machine: {command}',
  'problem.at': '{place}: {what}',
  'problem.file': 'the file',
  'problem.unknown_field': 'there is no such field',
  'problem.misspelt_field': 'there is no such field; did you mean {field}?',
  'problem.kind': 'must be {kind}',
  'problem.kind.text': 'text',
  'problem.kind.number': 'a number',
  'problem.kind.whole': 'a whole number',
  'problem.kind.switch': 'true or false',
  'problem.kind.list': 'a list',
  'problem.kind.object': 'an object, in curly brackets',
  'problem.least': 'must be at least {least}',
  'problem.most': 'must be at most {most}',
  'problem.shortest': {
    one: 'must have at least {count} character',
    other: 'must have at least {count} characters',
  },
  'problem.longest': {
    one: 'must have at most {count} character',
    other: 'must have at most {count} characters',
  },
  'problem.fullest': { one: 'must have at most {count} entry', other: 'must have at most {count} entries' },
  'problem.choice': 'must be one of {choices}',
  'problem.other': 'is not valid: {detail}',
  'problem.detail': '{detail}',
  'problem.no_tool': 'there is no tool "{name}"; the tools are {tools}',
  'problem.chain': 'the fallbacks lead back to an earlier model: {chain}',
  'problem.too_long': 'is too long: {size} bytes; at most {most} are allowed',
  'problem.unreadable': 'cannot be read ({code})',
  'problem.folder_unreadable': 'the folder cannot be read ({detail})',
  'problem.too_many_folders': {
    one: 'at most {most} folders are allowed; {count} more is not read, from "{first}" on',
    other: 'at most {most} folders are allowed; {count} more are not read, from "{first}" on',
  },
  'problem.profile_id':
    'a profile name must have 1 to 32 of the characters a-z, 0-9, "-" and "_", and be no reserved word such as "con" or "constructor"',
  'problem.profile_name': 'the name of the profile: {name}',
  'problem.name_form':
    'it must have 1 to 32 of the characters a-z, 0-9, "-" and "_", and be no reserved word such as "con" or "constructor"',
  'problem.name_taken': 'this name is already in use',
  'problem.no_room': 'there are already {most} profile folders, the maximum',
  'json.empty': 'is empty: write {braces} for no settings',
  'json.too_long': 'is too long: at most {most} characters are allowed',
  'json.too_deep': 'is nested too deeply: at most {most} levels are allowed',
  'json.twice': '"{name}" appears twice',
  'json.no_value':
    'this is not a value: put text in double quotes; other values are numbers, true, false and null',
  'json.no_number': 'this is not a number',
  'json.name_expected': 'the name of a field is expected here, in double quotes',
  'json.value_expected': 'a value is expected here',
  'json.colon_expected': 'a colon is expected here',
  'json.comma_missing': 'a comma is missing before this',
  'json.bracket_missing': 'a closing {bracket} is missing',
  'json.end_expected': 'the file should end before this',
  'json.no_comment': 'this is not a comment: write // or /* … */',
  'json.open_comment': 'a comment is not closed: write */ at its end',
  'json.open_text': 'a text is not closed: write " at its end, on the same line',
  'json.short_number': 'a number ends too early',
  'json.bad_unicode': 'four hexadecimal digits must follow \\u',
  'json.bad_escape': 'a backslash in a text is written \\\\',
  'json.control_character':
    'text must not contain control characters: write \\n for a line break, \\t for a tab',
} as const;

/*** Why a file of a message could not be used, or a recording not be listened to: each ends a sentence about the file. */
export const files = {
  'upload.problem': '⚠ {name}: {why}.',
  'upload.stopped': 'fetching it was stopped',
  'upload.too_many': 'only {most} files of a message are read',
  'upload.too_large': 'it is larger than {most} MB (media.maxFileMb in config.json)',
  'upload.person_full': 'your files here add up to {most} MB, the limit; they are removed after {days} days',
  'upload.empty': 'it is empty',
  'upload.folder_full': 'the folder of this session is full; {/help} shows how to start another one',
  'upload.not_fetched': 'it could not be fetched',
  'upload.not_fetched_because': 'it could not be fetched: {why}',
  'upload.other': '{why}',
  'upload.foreign': 'it is not a file of this session',
  'upload.gone': 'it is no longer here',
  'upload.no_download': 'this channel cannot fetch files',
  'upload.fetched_slowly': 'fetching it takes too long',
  'upload.busy': 'too many files are being read at the moment; please send it again later',
  'upload.read_slowly': 'reading it takes too long',
  'upload.damaged': 'it cannot be read: it is damaged, or needs too much memory',
  'upload.unreadable': 'cannot be read ({why})',
  'upload.no_text': 'it is not text in any character set that I can read; save it as UTF-8 and send it again',
  'hear.none':
    'it is a recording, and speech to text is not set up: set transcription.baseUrl in config.json to a speech-to-text server',
  'hear.not_set':
    'Speech to text is not set up: set transcription.baseUrl in config.json to a speech-to-text server.',
  'hear.nothing': 'no speech was found in it',
  'hear.failed': 'it could not be transcribed: {why}',
  'hear.no_transcript':
    'The speech-to-text server answered with something other than a transcript: check transcription.baseUrl in config.json.',
  'hear.unauthorized': 'The speech-to-text server refuses the gateway: check TRANSCRIPTION_API_KEY.',
  'hear.not_found':
    'The speech-to-text server has no /audio/transcriptions there, or no model "{model}": check transcription in config.json{reason}.',
  'hear.refused_large': 'The recording is too large for the speech-to-text server.',
  'hear.busy': 'The speech-to-text server is too busy right now.',
  'hear.broken': 'The speech-to-text server failed with status {status}{reason}.',
  'hear.unreadable': 'The speech-to-text server cannot read this recording{reason}.',
  'hear.odd_status':
    'The speech-to-text server answered with status {status}: check transcription.baseUrl in config.json.',
  'hear.unreachable':
    'The speech-to-text server cannot be reached{reason}: check transcription.baseUrl in config.json.',
  'hear.too_long': {
    one: 'Recordings can be at most one minute long (transcription.maxMinutes in config.json).',
    other: 'Recordings can be at most {count} minutes long (transcription.maxMinutes in config.json).',
  },
  'hear.too_large': 'Recordings can be at most 25 MB.',
  'hear.too_slow': {
    one: 'The speech-to-text server took longer than a minute.',
    other: 'The speech-to-text server took longer than {count} minutes.',
  },
  'hear.endless': 'The speech-to-text server sent an answer that is too long.',
} as const;

/*** The lines of a turn's timeline, as `parley trace` and the page show them. */
export const trace = {
  'trace.accepted': 'the message was accepted',
  'trace.asked_again': 'answers the question of turn {turn} again, {rest}',
  'trace.started': 'after {time} in the queue on node {node}, profile {profile}{failed}',
  'trace.continued': 'continues on node {node}, profile {profile}{failed}',
  'trace.moved': 'continues on node {node}, moved from another, profile {profile}{failed}',
  'trace.failed_before': ', after {attempts} and {crashes}',
  'trace.live': 'live on screen: {sent}, {edits}, {refused} refused as too fast, {failed} failed',
  'trace.live_sent': 'a message with the beginning of the answer was sent',
  'trace.live_edited': 'the message was edited',
  'trace.live_refused': 'the platform refused a call as too fast (429) and asked for a pause of {pause}',
  'trace.live_failed': 'a call to the platform failed: {code}',
  'trace.sent': {
    one: '{number} message sent',
    other: '{number} messages sent',
  },
  'trace.edits': { one: '{number} edit', other: '{number} edits' },
  'trace.dropped': { one: '{number} further step not stored', other: '{number} further steps not stored' },
  'trace.parked': 'parked: nothing is held while it waits',
  'trace.released': 'released: the node stopped, and another one continues',
  'trace.tool': 'tool {tool}',
  'trace.tool_running': 'tool {tool}: running',
  'trace.tool_error': 'tool {tool}: error',
  'trace.pause': 'pause before the next attempt ({code})',
  'trace.call': 'model call {number}: {model}',
  'trace.no_model': 'unknown model',
  'trace.tokens': '{read} tokens in, {written} out',
  'trace.first_token': 'first token after {time}',
  'trace.rate': '{rate} tokens/s',
  'trace.prompt': 'prompt {parts}',
  'trace.omissions': 'left out for its server: {parts}',
  'trace.part_system': 'system',
  'trace.part_tools': 'tools',
  'trace.part_history': 'history',
  'trace.part_message': 'message',
  'trace.part_steps': 'steps',
  'trace.part_note': 'note',
  'trace.call_failed': 'failed: {code}',
  'trace.call_running': 'running',
  'trace.from_journal': '(from the journal: its attempt recorded no times)',
  'trace.asks': 'approval requested for the tool {tool}',
  'trace.approved': 'approved by {by}: {tool}',
  'trace.denied': 'denied by {by}: {tool}',
  'trace.delivered': 'delivered{pauses}',
  'trace.not_delivered': 'not delivered yet{pauses}',
  'trace.delivery_dead': 'delivery given up{pauses}',
  'trace.pauses': ' after {time} of waiting and {attempts}',
  'trace.uncertain': {
    one: '{number} attempt with unknown outcome',
    other: '{number} attempts with unknown outcome',
  },
  'trace.ended': 'the turn ended: {reason}',
  'trace.reason_completed': 'completed',
  'trace.reason_stopped': 'stopped',
  'trace.reason_failed': 'failed',
  'trace.reason_max_iterations': 'it reached the maximum number of steps in a turn',
  'trace.reason_interrupted': 'interrupted by a newer message',
  'trace.reason_joined': 'answered together with another message',
  'trace.reason_cut_off': 'the answer reached its maximum length',
  'trace.reason_filtered': 'the model, or the filter of its server, refused to answer',
  'trace.note_context_compressed': 'earlier messages were summarized: {before} to {after} tokens',
  'trace.note_messages_joined': {
    one: 'one more of the sender’s messages joined this turn',
    other: '{count} more of the sender’s messages joined this turn',
  },
  'trace.note_profile_switched': 'switched to the profile {profile}',
  'trace.note_plan_ready': { one: 'a plan of one step', other: 'a plan of {count} steps' },
  'trace.note_plan_completed': 'the plan was completed',
  'trace.note_plan_paused': 'the plan was paused',
  'trace.note_plan_resumed': 'the plan was resumed',
  'trace.note_plan_ignored': 'the plan was not followed',
  'trace.note_plan_cancelled': 'the plan was cancelled',
  'trace.note_agent_stuck': 'the step makes no progress',
} as const;

/*** What happened to a message, as `/why` reports it. */
export const outcomes = {
  'why.joined': 'Its message was joined into {into}, whose answer covers both.',
  'why.joined_before': 'the turn before it',
  'why.joined_turn': 'turn {turn}',
  'why.dead': 'It was given up after {attempts} and {crashes}{because}. {replay}',
  'why.attempts': { one: '{number} failed attempt', other: '{number} failed attempts' },
  'why.crashes': { one: '{number} crash', other: '{number} crashes' },
  'why.replay': '"{parley} dead-letters" lists and replays it.',
  'why.silent': 'The model answered only with the silent token, so nothing was sent.',
  'why.failed': 'It failed with {code}{because}.',
  'why.stopped': 'It was stopped while it ran.',
  'why.dropped': 'It was dropped from the queue by a stop.',
  'why.interrupted': 'The next message of the chat interrupted it.',
  'why.answered': 'Answered in {time}.',
  'why.answered_cut_off': 'Answered in {time}; the answer reached its maximum length.',
  'why.answered_filtered': 'Answered in {time}; the model, or the filter of its server, refused to answer.',
  'why.answered_max_iterations':
    'Answered in {time}; it reached the maximum number of steps (maxIterations).',
  'why.delivery_dead': 'Its answer is written, but its delivery was given up{because}. {replay}',
  'why.delivery_behind': {
    one: 'Its answer is written and is waiting behind {number} other message to the chat.',
    other: 'Its answer is written and is waiting behind {number} other messages to the chat.',
  },
  'why.delivery_refused':
    'Its answer is written, but the platform does not accept it{because}; it has been tried for {time} so far, and the next try is in {next}.',
  'why.delivery_tried':
    'Its answer is written, but the platform does not accept it{because}; it has been tried for {time} so far and is being tried now.',
  'why.delivery_paused':
    'Its answer is written; the platform asked for a pause, and the next try is in {next}.',
  'why.delivery_waits': 'Its answer is written and is waiting for a gateway to deliver it.',
  'why.delivery_runs': 'Its answer is being delivered, {time} after the message.',
  'why.client': 'It is waiting for its client to send the results of the tools that the client runs.',
  'why.decided': 'Its approval was decided, and it is about to continue.',
  'why.approval': 'It has waited {time} for a person to approve the tool {tool}.',
  'why.approval_left':
    'It has waited {time} for a person to approve the tool {tool}, for at most {left} more.',
  'why.no_gateway': 'It is waiting: no gateway is running.',
  'why.behind': {
    one: 'It is waiting behind {number} earlier message of its session{at}.',
    other: 'It is waiting behind {number} earlier messages of its session{at}.',
  },
  'why.behind_head': '; turn {turn} at the head is {state}',
  'why.collecting': 'It is waiting {time} for more messages (queue mode collect).',
  'why.retried_in': 'It will be retried in {time} ({attempts}, {crashes} of the gateway){because}.',
  'why.retried_soon':
    'It will be retried as soon as a gateway has room ({attempts}, {crashes} of the gateway){because}.',
  'why.no_room': {
    one: 'It is due, but no gateway has room for it: {number} gateway runs {turns} (turns.concurrency).',
    other: 'It is due, but no gateway has room for it: {number} gateways run {turns} (turns.concurrency).',
  },
  'why.turns': { one: '{number} turn', other: '{number} turns' },
  'why.node': 'Node {node} has been working on it for {time}.',
  'why.tool': 'The tool {tool} has been running for {time}.',
  'why.model': 'It has been waiting for the model {model} for {time}; tokens are counted when the call ends.',
  'why.last': 'The last turn: {why}',
  'why.all': 'Full trace: {parley} trace {turn}',
  'why.none': 'No message of this chat has become a turn yet.',
  'why.owners_only': 'Only an owner can see what became of the messages of a chat.',
  'why.refusal': 'A message from {sender} in {place} at {moment} did not become a turn ({code}): {why}.',
  'why.refusals': {
    one: '{number} message, from {sender} in {place} at {moment}, did not become a turn ({code}): {why}.',
    other:
      '{number} messages, the last one from {sender} in {place} at {moment}, did not become a turn ({code}): {why}.',
  },
  'why.somebody': 'someone',
  'why.refused_denied': 'its sender or chat has no access ({parley} pair)',
  'why.refused_pairing': 'its sender has no access yet and was given a pairing code ({parley} pair approve)',
  'why.refused_forbidden': 'a rule forbids it',
  'why.refused_rate_limited':
    'its sender wrote too fast (limits.messagesPerMinute), or used up a day’s tokens',
  'why.refused_queue_full': 'too many messages of the session are already waiting ({/stop} drops them)',
  'why.refused_too_large': 'it is too long',
  'why.refused_empty': 'it has neither text nor a file',
  'why.refused_tools_pending': 'its session is waiting for results of its client’s tools',
  'why.refused_planning_off': 'it asks for a plan where planning is off',
  'why.refused_not_mentioned':
    'it did not mention the bot, which is required in groups (access.<channel>.groups)',
  'why.refused_ignored': 'its channel does not forward messages of this kind',
} as const;
