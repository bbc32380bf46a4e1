/** Who is let in, what is refused, and what is said of messages that wait. */

export const access = {
  'pairing.code':
    'Hello! I do not know you yet. Ask the person who runs me to approve this code within an hour:\n\n{parley} pair approve {code}',
  'group.not_allowed':
    "This group is not allowed yet. On the gateway's machine run: {parley} pair group {channel} {chat}",
  'group.hello_not_allowed':
    "Hello! I answer only in groups that whoever runs me has allowed. This one is allowed on the gateway's machine with: {parley} pair group {channel} {chat}",
  'group.hello_mention':
    'Hello! Mention me, reply to one of my messages or send a command, and I answer. Send {/help} to see what else I can do.',
  'group.hello': 'Hello! I answer every message here. Send {/help} to see what else I can do.',
  'group.quiet':
    'Bots have caused {turns} answers here within {within} minutes. For {quiet} minutes I answer no bot in this chat; people are answered as always.',

  'observe.private': 'There is nothing to observe in a private chat.',
  'observe.usage': 'Write {/observe} on or {/observe} off.',
  'observe.owners_only': 'Only an owner can switch whether I read along here.',
  'observe.on':
    'I read along here: the last {most} messages that do not mention me are kept, and the model reads them with the next one that does. I answer none of them. {/observe} off ends it and deletes them.',
  'observe.off': 'I keep nothing here that does not mention me.',

  'refused.queue_full': {
    one: '{count} of your messages is still waiting, so this one was not accepted. Send {/stop} to drop it.',
    other:
      '{count} of your messages are still waiting, so this one was not accepted. Send {/stop} to drop them.',
  },
  'refused.tools_pending':
    'This session waits for the results of the tool calls {ids}: send them as tool messages, or stop the session.',
  'refused.empty': 'This message has neither text nor a file that I can read.',
  'refused.too_long': 'That message is too long: I accept up to {most} characters.',
  'refused.too_fast': 'That was too fast, so I did not accept it. Please send it again in {seconds} s.',
  'refused.too_fast_last':
    'That was too fast, so I did not accept it. Please send it again in {seconds} s. I will not say so again until one of your messages is accepted.',
  'refused.tokens': 'You have used the {tokens} tokens of this day; it starts again at {reset} UTC.',
  'refused.scope':
    'This token lacks the scope "{scope}", so /{name} was not carried out; "{parley} token change ID --scope SCOPES" grants it.',
  'refused.choice_profile':
    'This token may not choose the profile "{name}": only one with the scope "admin" may. It may use {instead}; a profile with "usableBy": "everyone" is for all.',
  'refused.choice_model':
    'This token may not choose the model "{name}": only one with the scope "admin" may. It may use {instead}; a profile with "usableBy": "everyone" is for all.',
  'refused.choice_other_model':
    'This token may not choose another model: only one with the scope "admin" may. It may use {instead}; a profile with "usableBy": "everyone" is for all.',

  'waiting.for_approval':
    'Your message is next: first I wait for an answer about `{tool}` (its buttons, {/approve} or {/deny}; {/stop} drops everything).',

  'button.copy': 'Copy the command',
  'button.unknown': 'This button is unknown. Nothing was changed.',
  'button.elsewhere': 'This button belongs to another chat. Nothing was changed.',

  'answer.ended': 'This answer has ended already.',
  'answer.forgotten': 'I no longer know this answer. Nothing was changed.',
  'answer.not_newest': 'Only the newest answer can be made anew. Nothing was changed.',
  'answer.asked_again': 'Asked again.',
  'edited.offer': 'I had begun with your question as it was before.',
  'edited.again': 'Ask again',
  'edited.forgotten': 'I no longer know that question. Please send it again.',
  'edited.foreign': 'Only whoever wrote the question can ask it again.',
} as const;
