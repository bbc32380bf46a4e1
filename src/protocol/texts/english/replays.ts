/** What replays and marks of turns say, in English. */

export const replays = {
  'replay.files_gone': {
    one: 'a picture that the model saw no longer exists',
    other: '{count} pictures that the model saw no longer exist',
  },
  'replay.history_cut':
    'the window of {model} has no room for all earlier messages: the oldest were left out',
  'replay.joined': {
    one: 'a message that joined the running turn is asked together with its question',
    other: '{count} messages that joined the running turn are asked together with its question',
  },
  'replay.no_room': 'the window of {model} has no room for the tools: none were offered',
  'replay.no_tools': '{model} cannot call tools: none were offered',
  'replay.not_ended': 'This turn has not ended yet. Replay it when it has its answer.',
  'replay.not_kept':
    'Nothing of this turn is left to replay: its message was joined to another turn, or its texts were deleted.',
  'replay.plan_steps':
    'the steps of its plan are not run again: the model has only the plan and its own tools',
  'replay.profile_gone': 'the profile {profile} no longer exists: the limits of {instead} apply',
  'replay.prompt_cut':
    'the system prompt was too long to be stored whole: the one of {profile} as it is today is used',
  'replay.prompt_gone':
    'the prompt is no longer stored: prompt and tools of {profile} as they are today are used, without memories',
  'replay.timed_out': 'The replay was ended after {minutes} minutes.',
  'replay.too_large':
    'This turn is too large to be marked: it has {size} of JSON, and at most {limit} are kept.',
  'replay.too_many':
    'The set {set} is full, or there are too many sets: a set has at most {cases} turns, and there are at most {sets} sets. Unmark turns first.',
  'replay.too_many_own': 'You have marked {limit} turns, the most for one token. Unmark some first.',
  'replay.tools_absent': 'tools that are not there now are offered as they were: {tools}',
  'replay.tools_gone': 'the definitions of its tools are no longer stored: those of today are offered',
  'replay.tools_gone_some':
    'the definitions of its tools are no longer stored: those of today are offered, and these no longer exist: {tools}',
  'replay.unknown_profile': 'There is no profile {profile}.',
} as const;
