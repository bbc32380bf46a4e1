/** Replies of the commands about profiles, models, schedules, prompts and usage. */

export const settings = {
  'profile.is': 'Profile: {profile}',
  'profile.bound': 'Profile: {profile} (bound in config.json)',
  'profile.line': '- {profile}: {about}',
  'profile.line_now': '- {profile} (this one): {about}',
  'profile.model': 'model {model}',
  'profile.tools': 'tools {tools}',
  'profile.no_tools': 'no tools',
  'profile.switch': 'Switch with {/profile} ID.',
  'profile.errors': 'The files of some profiles have errors; their last valid content stays in use.',
  'profile.unknown': 'There is no profile "{name}". Profiles: {profiles}.',
  'profile.changed': 'The profile is {profile} now, from the next message on.',
  'model.unknown':
    'There is no model or profile "{name}": {/model} and {/profile} list them, over HTTP GET /v1/models.',
  'profile.cannot_answer': 'The profile "{profile}" cannot answer: {why}',
  'profile.no_such_model': 'The profile "{profile}" cannot answer: there is no model "{name}".',
  'profile.of_chat': 'Only talks: no tools and no plans',
  'profile.of_coder': 'Works on the files of the conversation and runs programs',
  'profile.of_researcher': 'Finds things out on the web, with sources',
  'model.is': 'Model: {model}',
  'model.chosen': '(chosen for this conversation; {/model} default undoes it)',
  'model.change': 'Change it with {/model} NAME:',
  'model.more': 'and {more} more',
  'model.usual_again': 'The model is the usual one again: {model}.',
  'model.is_profile': '"{name}" is a profile: switch to it with {/profile} {name}.',
  'model.changed': 'The model is {model} now, from the next message on.',
  'settings.owners_only':
    'Only an owner may change this: the first person who was paired, a person in access.owners of config.json, or a token with the scope "admin".',

  'usage.everyone_today': 'All users, today',
  'usage.everyone': 'All users, last {days} days',
  'usage.conversation': 'This conversation',
  'usage.you_today': 'You today (UTC)',
  'usage.you': 'You, last {days} days',
  'usage.line': '- {what}: {sum}',
  'usage.nothing': 'nothing',
  'usage.sum': {
    one: '{answers} answer, {read} tokens read, {written} written, {time} of model time',
    other: '{answers} answers, {read} tokens read, {written} written, {time} of model time',
  },
  'usage.estimated': '≈ = a server did not report everything.',

  'prompt.none': 'No MCP server offers a prompt here.',
  'prompt.undescribed': 'no description',
  'prompt.unknown': 'There is no such prompt. The prompts here:',
  'prompt.missing': 'This prompt needs {names}: {usage}',
  'prompt.empty': 'The server sent an empty prompt.',

  'schedule.how_list': '`{/schedule}` lists the schedules of this chat',
  'schedule.how_cron':
    '`{/schedule} add "0 9 * * 1-5" Tell me the news` adds a schedule with a cron line (minute, hour, day, month, weekday) and, if you like, a time zone: `"0 9 * * * Europe/Berlin"`',
  'schedule.how_every':
    '`{/schedule} add "every 30m" …`, `"every 2 hours"`, `"in 10 minutes"` or `"at 2026-12-01 09:00"` also works',
  'schedule.how_remove': '`{/schedule} remove 2` removes the second one in the list',
  'schedule.now': 'It is {moment} now.',
  'schedule.none': 'There are no schedules here. {now}',
  'schedule.added': 'Scheduled: {schedule}',
  'schedule.removed': 'Removed: {schedule}',
  'schedule.unknown': 'There is no such schedule here; {/schedule} lists them.',
  'schedule.foreign': 'Someone else made this schedule; only they or an owner can remove it.',
  'schedule.line': '{timing}, {state}: {task}',
  'schedule.once': 'once',
  'schedule.days': { one: 'every day', other: 'every {count} days' },
  'schedule.hours': { one: 'every hour', other: 'every {count} hours' },
  'schedule.minutes': { one: 'every minute', other: 'every {count} minutes' },
  'schedule.next': 'next {moment}',
  'schedule.done': 'done {moment}',
  'schedule.off': 'switched off',
  'schedule.run_skipped': 'skipped: {why}',
  'schedule.run_deleted': 'begun; its turn has been deleted',
  'schedule.run_queued': 'waits in its chat',
  'schedule.run_running': 'still running',
  'schedule.run_parked': 'waits for a decision',
  'schedule.run_completed': 'completed',
  'schedule.run_stopped': 'stopped by a person',
  'schedule.run_failed': 'failed; its trace says why',
  'schedule.run_max_iterations': 'ended at the maximum number of steps in a turn',
  'schedule.run_interrupted': 'interrupted by a newer message',
  'schedule.run_joined': 'answered together with another message',
  'schedule.run_cut_off': 'the answer reached its maximum length',
  'schedule.run_filtered': 'the model, or the filter of its server, refused to answer',
  'schedule.run_ended': 'ended',
  'schedule.why_full': 'too many messages were waiting in the chat, which {/stop} drops',
  'schedule.why_tools': 'the chat was waiting for the results of tools that its program runs',
  'schedule.why_not_taken': 'the chat did not take the task',
  'schedule.why_no_access':
    'The schedule was switched off: the person who made it is no longer allowed to write in this chat.',
  'schedule.why_missed': {
    one: 'One run was missed because no gateway was running at the time; only the first of the missed runs is made up.',
    other:
      '{count} runs were missed because no gateway was running at the time; only the first of the missed runs is made up.',
  },
  'schedule.why_missed_many':
    'More than {most} runs were missed because no gateway was running at the time; only the first of the missed runs is made up.',
  'schedule.unreadable':
    'A schedule was switched off because its timing can no longer be read; see {/schedule}.',
  'schedule.skipped_full':
    'A scheduled task was skipped: too many messages were waiting in the chat, which {/stop} drops.',
  'schedule.skipped_tools':
    'A scheduled task was skipped: the chat was waiting for the results of tools that its program runs.',
  'schedule.skipped': 'A scheduled task was skipped: the chat did not take the task.',
  'schedule.one_way':
    'Give the time in exactly one way: a cron line, every N minutes, in N minutes, or at a time.',
  'schedule.no_time':
    '"{text}" is not a time I can read; write it as 2026-12-01 09:00, or with an offset as 2026-12-01T09:00:00+01:00.',
  'schedule.bad_offset': '"{text}" has an offset that does not exist.',
  'schedule.no_zone': 'There is no time zone "{zone}"; give one such as Europe/Berlin, or UTC.',
  'schedule.before_1970': 'Times before 1970 are not accepted.',
  'schedule.interval': 'The interval must be between 1 minute and 366 days.',
  'schedule.never': '"{expression}" never occurs: there is no such day.',
  'schedule.passed': 'That time has passed; it is {now} now.',
  'schedule.too_often': '"{expression}" runs more often than once a minute, which is the limit.',
  'schedule.no_cron':
    '"{expression}" is not a cron line: five numbers or stars, for minute, hour, day, month and weekday, such as "0 9 * * *" for every day at nine.',
  'schedule.by_task': 'A scheduled task cannot add schedules; a person can, with {/schedule} add.',
  'schedule.in_group':
    'In a group only an owner of this bot can add schedules, and only where the group itself is allowed. In a private chat you can add your own.',
  'schedule.may_not_write':
    'I am not allowed to write to {address} for you; over HTTP, post a message there first.',
  'schedule.session_full':
    'This chat has the maximum of {most} schedules. Remove one first: {/schedule} remove <number>.',
  'schedule.user_full':
    'You have the maximum of {most} schedules across all chats. Remove one first: {/schedule} remove <number>.',
  'schedule.gateway_full': 'This gateway has the maximum of {most} schedules. Some must be removed first.',
  'schedule.no_task': 'The task is missing: say what to do.',
  'schedule.long_task': 'A task can have at most {most} characters; this one has {length}.',
} as const;
