/** What a turn says of itself: how it ended, what it waits for, and notices while it runs. */

export const turns = {
  'turn.empty': 'The model gave an empty answer. Please ask again, perhaps in other words.',
  'turn.cut_off': '*(cut off: the answer reached its maximum length)*',
  'turn.cut_off_unbegun':
    'The model reached its maximum length before it began to answer. Please ask for less at once.',
  'turn.filtered': '*(cut off: the content filter of the model server ended the answer)*',
  'turn.filtered_unbegun':
    'The content filter of the model server ended this answer before it began. Please ask in other words.',
  'turn.refused': 'The model refused to answer.',
  'turn.stopped': '*(stopped)*',
  'turn.joined': '*(answered together with the message before)*',
  'turn.interrupted': '*(interrupted by your next message)*',
  'turn.limit': {
    one: 'I stopped after one step, the limit of this profile (maxIterations), before I was finished. Tools used so far: {tools}.',
    other:
      'I stopped after {count} steps, the limit of this profile (maxIterations), before I was finished. Tools used so far: {tools}.',
  },
  'turn.go_on': 'Write "go on" to continue.',
  'turn.model_away': 'The model is not available, trying again. {why}',
  'turn.no_plan': 'This answer has no plan: {why}',
  'turn.no_steps':
    'The model wrote no steps, so there is no plan. Say more precisely what you want, or try another model.',
  'turn.plan_made':
    'None of this plan has run yet. **Run** starts it, **Step by step** asks you before each step, and **Edit** shows how you can change it first.',
  'turn.run_changed':
    'The plan was changed, or started by someone else, after this run was requested, so this run did not start.',
  'turn.busy_next': 'The model is busy: your answer is next.',
  'turn.busy': {
    one: 'The model is busy: one answer is ahead of yours.',
    other: 'The model is busy: {count} answers are ahead of yours.',
  },
  'turn.fewer_tools':
    '{model} reads little at once ({tokens} tokens): {offered} of {all} tools are offered directly, it has to look the others up.',
  'turn.no_tools_fit': '{model} reads so little at once ({tokens} tokens) that it answers without tools.',
  'turn.history_left_out':
    'The beginning of this conversation no longer fits into what the model reads at once: it answers without it.',
  'turn.pictures_unseen': '{model} cannot see pictures, so it answers without them.',
  'turn.outcome_unknown':
    'Outcome unknown: {tool} was interrupted and is not run again: it may or may not have taken effect.',
  'turn.model_back': 'The model {model} is answering again.',
  'turn.model_instead': 'The model {model} {why}; {instead} answers instead.',
  'turn.usual_instead': 'The usual model {why}; {instead} answers instead.',
  'turn.not_spoken':
    'This answer could not be spoken: {why} Answers continue as text; {/voice} off stops the attempts.',

  'model_fails.unavailable': 'cannot be reached',
  'model_fails.out_of_memory': 'is out of memory',
  'model_fails.rate_limited': 'asks for a pause',
  'model_fails.quota_exceeded': 'has used up its quota',
  'model_fails.unauthorized': 'refuses access',
  'model_fails.unknown_model': 'does not exist',
  'model_fails.timeout_first_chunk': 'does not begin to answer',
  'model.answers_instead': '{model} answers instead, because it {why}',
  'model.small_window': 'a small window of {tokens} tokens: it looks up the tools that find no room',
  'model.only_talks': '{model} cannot call tools, so it only talks',
  'model.none': 'none; {why}',

  'cancelled.completed': 'The answer was given.',
  'cancelled.cut_off': 'The answer was cut off.',
  'cancelled.filtered': 'The model refused to answer, or a content filter ended its answer.',
  'cancelled.stopped': 'Stopped.',
  'cancelled.max_iterations': 'The limit of iterations was reached.',
  'cancelled.failed': 'The turn failed.',
  'cancelled.interrupted': 'The turn was interrupted.',
  'cancelled.not_resumed': 'It was not resumed in time.',
  'cancelled.not_run': 'Step {number} was not approved in time.',
  'cancelled.rewritten': 'The todo list was rewritten.',

  'cancelled.by_user': 'Stopped by the user.',
  'cancelled.before_run': 'Cancelled before it ran.',
  'cancelled.again': 'Cancelled: it is not run again.',
  'cancelled.step_failed': 'Step {number} failed: {why}',
  'cancelled.still_fails': 'Step {number} still fails after {most} corrections.',
  'cancelled.no_corrections': 'The plan has used up its {most} corrections, and step {number} still fails.',
  'cancelled.no_room': {
    one: 'The plan has room for {count} more step, fewer than the correction asks for.',
    other: 'The plan has room for {count} more steps, fewer than the correction asks for.',
  },
  'cancelled.no_step': 'The plan has no step "{id}".',
  'cancelled.correction_failed': 'The failed step could not be corrected. {why}',
  'cancelled.bad_correction': "The model's answer is not a valid correction: {detail}",
  'cancelled.no_new_command': "The model's answer changes the step, but does not name its new command.",
  'cancelled.no_json': "The model's answer contains no JSON object.",
  'cancelled.no_reason': 'no reason was given',
  'cancelled.tool_gone': 'The tool "{name}" no longer exists.',
  'cancelled.no_call': 'The model did not call {name}. It wrote: {text}',
  'cancelled.no_result': 'The call gave no result.',
  'cancelled.empty_answer': 'The model gave an empty answer.',
  'cancelled.unfinished':
    'The step was not finished within {most} model calls, the most that a step may make.',

  'step.thinking': 'Step {number} failed; thinking about what to do…',
  'step.again': 'Step {number} is tried again.',

  'wait.run': 'Run',
  'wait.skip': 'Skip',
  'wait.resume': 'Resume',
  'wait.stop': 'Stop',
  'wait.how_step': {
    one: 'Press a button, or write {/run} or {/skip}. Without an answer in a minute the plan is cancelled.',
    other:
      'Press a button, or write {/run} or {/skip}. Without an answer in {count} minutes the plan is cancelled.',
  },
  'wait.how_pause': {
    one: 'Press a button, or write {/resume} or {/stop}. Without an answer in a minute the plan is cancelled.',
    other:
      'Press a button, or write {/resume} or {/stop}. Without an answer in {count} minutes the plan is cancelled.',
  },
  'wait.was_run': 'This step was allowed to run.',
  'wait.was_skipped': 'This step was skipped.',
  'wait.was_stopped': 'The plan was stopped.',
  'wait.expired': 'No answer came in time.',
  'wait.step': 'step {number}',
  'wait.next': '**Next: {step}**',
  'wait.next_is': 'The next step: {step}.',
  'wait.paused': 'The plan is paused before step {number}.',

  'risk.it': 'It {what}.',
  'risk.cannot_be_undone': 'may do something that cannot be undone',
  'risk.sends': 'It could send text of this chat to others, and text from {sources} may have caused it.',
  'risk.reaches': 'It reaches beyond this chat, and text from {sources} may have caused it.',
  'risk.changes': 'It changes something, or sends something to others.',
  'risk.changed_since':
    'You approved this before, but it or a file that it names has changed since: please look again.',
  'risk.network_script': 'runs a script from the network',
  'risk.deletes': 'deletes files',
  'risk.disks': 'writes to disks',
  'risk.network': 'talks to the network',
  'risk.rights': 'changes rights',
  'risk.ends_programs': 'ends programs',
  'risk.endless': 'starts programs endlessly',
  'risk.program': 'runs a program in the sandbox, which may change the files of this chat',
  'risk.mcp_call': 'calls {tool} of the MCP server "{server}", which may do something that cannot be undone',
  'risk.mcp_read': 'reads from the MCP server "{server}", which is not trusted',
} as const;
