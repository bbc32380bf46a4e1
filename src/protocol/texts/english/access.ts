/** Who is let in, what is refused, and what is said of messages that wait. */

export const access = {
  'pairing.code':
    'Hello! I do not know you yet. Ask the person who runs me to approve this code within an hour:\n\n{parley} pair approve {code}',
  'group.not_allowed':
    "This group is not allowed yet. On the gateway's machine run: {parley} pair group {channel} {chat}",
  'group.hello_not_allowed':
    "Hello! I only answer in groups that the person who runs me has allowed. To allow this one, run this on the gateway's machine: {parley} pair group {channel} {chat}",
  'group.hello_mention':
    'Hello! Mention me, reply to one of my messages or send a command, and I answer. Send {/help} to see what else I can do.',
  'group.hello': 'Hello! I answer every message here. Send {/help} to see what else I can do.',
  'group.quiet':
    'Bots have triggered {turns} answers here within {within} minutes. For {quiet} minutes I do not answer bots in this chat; I still answer people as usual.',

  'observe.private': 'There is nothing to observe in a private chat.',
  'observe.usage': 'Write {/observe} on or {/observe} off.',
  'observe.owners_only': 'Only an owner can switch whether I read along here.',
  'observe.on':
    'I read along here: the last {most} messages that do not mention me are kept, and the model reads them with the next one that does. I do not answer them. {/observe} off ends this and deletes them.',
  'observe.off': 'Here I keep only messages that mention me.',

  'refused.queue_full': {
    one: '{count} of your messages is still waiting, so this one was not accepted. Send {/stop} to drop it.',
    other:
      '{count} of your messages are still waiting, so this one was not accepted. Send {/stop} to drop them.',
  },
  'refused.tools_pending':
    'This session is waiting for the results of the tool calls {ids}: send them as tool messages, or stop the session.',
  'refused.empty': 'This message has neither text nor a file that I can read.',
  'refused.too_long': 'That message is too long: I accept up to {most} characters.',
  'refused.too_fast': 'That was too fast, so I did not accept it. Please send it again in {seconds} s.',
  'refused.too_fast_last':
    'That was too fast, so I did not accept it. Please send it again in {seconds} s. I will not repeat this until one of your messages is accepted.',
  'refused.tokens': 'You have used your {tokens} tokens for today; the limit resets at {reset} UTC.',
  'refused.scope':
    'This token lacks the scope "{scope}", so /{name} was not carried out; "{parley} token change ID --scope SCOPES" grants it.',
  'refused.choice_profile':
    'This token cannot choose the profile "{name}": that requires the scope "admin". It can use {instead}; a profile with "usableBy": "everyone" is open to all.',
  'refused.choice_model':
    'This token cannot choose the model "{name}": that requires the scope "admin". It can use {instead}; a profile with "usableBy": "everyone" is open to all.',
  'refused.choice_other_model':
    'This token cannot choose another model: that requires the scope "admin". It can use {instead}; a profile with "usableBy": "everyone" is open to all.',

  'waiting.for_approval':
    'Your message is next, but I am still waiting for a decision on `{tool}` (its buttons, {/approve} or {/deny}; {/stop} drops everything).',

  'button.copy': 'Copy the command',
  'button.unknown': 'This button is unknown. Nothing was changed.',
  'button.elsewhere': 'This button belongs to another chat. Nothing was changed.',

  'answer.ended': 'This answer has already ended.',
  'answer.forgotten': 'I no longer know this answer. Nothing was changed.',
  'answer.not_newest': 'Only the newest answer can be regenerated. Nothing was changed.',
  'answer.asked_again': 'Asked again.',
  'edited.offer': 'I had already started on your question as it was before.',
  'edited.again': 'Ask again',
  'edited.forgotten': 'I no longer know that question. Please send it again.',
  'edited.foreign': 'Only the person who wrote the question can ask it again.',
} as const;
