/** What people read of errors: nothing about servers, addresses and settings. */

export const failures = {
  'failure.answer': 'Sorry, this could not be answered. {why}',
  'failure.try_in': '{what} Try again in {time}.',
  'failure.timeout_first_chunk': 'The model did not begin to answer in time. Please try again.',
  'failure.timeout_first_chunk_plain': 'The model did not begin to answer in time.',
  'failure.timeout_chunk': 'The model stopped responding in the middle of its answer. Please try again.',
  'failure.timeout_chunk_plain': 'The model stopped responding in the middle of its answer.',
  'failure.context_overflow':
    'This is too long for the model. Send a shorter message, or start over with {/new}.',
  'failure.message_too_large':
    'This message is too long for the model: about {tokens} tokens, and there is room for {room}. Send it in smaller pieces, or choose a model with a larger window.',
  'failure.window_too_small':
    "The model's window is too small for this profile's prompt and what the turn has gathered: choose a model with a larger window, or start its server with one.",
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
