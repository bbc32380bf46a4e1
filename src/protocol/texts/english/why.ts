/** What became of a message, as `/why` tells it. */

export const why = {
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
  'why.answered': 'It was answered after {time}.',
  'why.answered_cut_off': 'It was answered after {time}; the answer reached its maximum length.',
  'why.answered_filtered':
    'It was answered after {time}; the model, or the filter of its server, refused to answer.',
  'why.answered_max_iterations':
    'It was answered after {time}; it reached the maximum of steps (maxIterations).',
  'why.delivery_dead': 'Its answer is written, but its delivery was given up{because}. {replay}',
  'why.delivery_behind': {
    one: 'Its answer is written and waits behind {number} other message to the chat.',
    other: 'Its answer is written and waits behind {number} other messages to the chat.',
  },
  'why.delivery_refused':
    'Its answer is written, but the platform does not accept it{because}; it has been tried for {time} so far, and the next try is in {next}.',
  'why.delivery_tried':
    'Its answer is written, but the platform does not accept it{because}; it has been tried for {time} so far and is being tried now.',
  'why.delivery_paused':
    'Its answer is written; the platform asked for a pause, and the next try is in {next}.',
  'why.delivery_waits': 'Its answer is written and waits for a gateway to deliver it.',
  'why.delivery_runs': 'Its answer is being delivered, {time} after the message.',
  'why.client': 'It waits for its client to send the results of the tools that the client runs.',
  'why.decided': 'Its approval was decided, and it is about to continue.',
  'why.approval': 'It has waited {time} for a person to approve the tool {tool}.',
  'why.approval_left':
    'It has waited {time} for a person to approve the tool {tool}, for at most {left} more.',
  'why.no_gateway': 'It waits: no gateway is running.',
  'why.behind': {
    one: 'It waits behind {number} earlier message of its session{at}.',
    other: 'It waits behind {number} earlier messages of its session{at}.',
  },
  'why.behind_head': '; turn {turn} at the head is {state}',
  'why.collecting': 'It waits {time} for more messages (queue mode collect).',
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
  'why.model': 'It has been waiting for the model {model} for {time}; tokens are seen when the call ends.',
  'why.last': 'The last turn: {why}',
  'why.all': 'All of it: {parley} trace {turn}',
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
  'why.refused_ignored': 'its channel does not pass on messages of this kind',
} as const;
