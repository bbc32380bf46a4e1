/** Replies of the commands about the conversation, and about what is known of a person. */

export const commands = {
  'greeting.first': 'Hello! Write to me as you would to a person; I answer right here. You can also send:',

  'bot.description':
    'Write to me as you would to a person, and I answer right here. If I do not know you yet, my first answer says what to do.',
  'bot.short_description': 'A personal assistant, run by the person who gave you this address.',

  'stop.stopped': 'Stopped.',
  'stop.nothing': 'Nothing is running.',
  'stop.was_idle': 'Nothing was running.',
  'stop.dropped': { one: '1 queued message was dropped.', other: '{count} queued messages were dropped.' },
  'stop.agents': 'Subagents ended: {agents}.',
  'new.begun': 'This is a new conversation.',
  'new.untitled': 'New conversation',
  'new.in_thread': 'This is a new conversation: write to me here.',
  'new.no_right':
    'It starts here: I cannot open topics in this group until an administrator lets me manage topics.',
  'new.thread_opened': 'The new conversation has its own topic, "{name}". This one stays as it is.',

  'status.state': '{state}, {waiting}.',
  'status.answering': 'Answering',
  'status.idle': 'Idle',
  'status.none_waiting': 'nothing is waiting',
  'status.waiting': { one: '{count} waiting', other: '{count} waiting' },
  'status.model': 'Model: {model}',
  'status.profile': 'Profile: {profile}',
  'status.bound': '{profile} (bound in config.json)',
  'status.mode': 'Mode: {mode}',
  'status.messages': 'Messages in this session: {messages}',
  'status.sources': 'Text from others it has read: {sources}',
  'status.server': {
    one: 'MCP server {name}: {state}, 1 tool',
    other: 'MCP server {name}: {state}, {count} tools',
  },
  'status.profile_errors': 'Some profiles have errors: {/profile} lists them.',
  'status.settings_errors': 'The settings have errors; their last valid content stays in use:',
  'status.webhook': {
    one: 'Webhook {name}: {count} event is waiting.',
    other: 'Webhook {name}: {count} events are waiting.',
  },
  'status.webhook_failing': {
    one: 'Webhook {name}: {count} event is waiting because the last try failed: {error}',
    other: 'Webhook {name}: {count} events are waiting because the last try failed: {error}',
  },
  'status.needs_restart': 'Changed settings that need a restart: {fields}',
  'status.agent': 'In the background, at most {minutes} min left: {profile}: {task}',

  'sources.pages': 'web pages',
  'sources.hosts': 'web pages ({hosts})',
  'sources.hosts_more': 'web pages ({hosts} and others)',
  'sources.local': 'files, programs, memories or other agents',
  'sources.group': 'this group',
  'sources.forwarded': 'a forwarded message',
  'sources.quoted': 'a quoted message',
  'sources.hook': 'a webhook',
  'sources.servers': 'MCP servers ({servers})',
  'sources.servers_more': 'MCP servers ({servers} and others)',
  'sources.and': ' and ',

  'memory.not_here': 'Others can read this chat. Ask me in a private chat what I remember about you.',
  'memory.none': 'I remember nothing about you yet.',
  'memory.no_match': 'I remember nothing that matches.',
  'memory.list': 'What I remember about you ({/forget} and a number deletes one):',
  'memory.unverified': '(unverified)',
  'memory.more': 'There is more: search it with {/memory} and some words.',
  'memory.doubt':
    'While a fact is unverified, tools that reach beyond this chat ask you first. Confirm it with {/verify} and its number.',
  'memory.no_number': 'There is no fact number {number}.',
  'verify.usage': 'Write {/verify} and a number from {/memory}.',
  'verify.done': 'Number {number} is confirmed.',
  'forget.usage': 'Write {/forget} and a number from {/memory}, or {/forget} all.',
  'forget.done': 'Forgotten: number {number}.',
  'forget.nothing': 'I remembered nothing about you.',
  'forget.all': 'I have forgotten everything about you ({facts}).',

  'queue.now': 'Messages while I answer: {mode}.',
  'queue.changed': 'From now on {meaning} ({mode}).',
  'queue.unknown': 'There is no queue mode "{name}". Modes: {modes}.',
  'queue.queue': 'each message gets its own answer, in order',
  'queue.steer': 'a message joins the running answer at its next step',
  'queue.interrupt': 'a message ends the running answer and is answered instead',
  'queue.collect': 'messages sent in one go are answered as one',

  'title.none':
    'This chat has no title yet: it gets one after the first answer. Set one with {/title} and some words.',
  'title.is': 'The title of this chat: {title}',
  'title.changed': 'This chat is now called: {title}',
  'title.too_long': 'The title has {length} characters; it may have 1 to {most}.',
  'title.empty': 'The title is empty; it may have 1 to {most}.',
  'session.raced': 'Someone else has just started this conversation: please send that again.',

  'try.busy': 'An answer is being written or is waiting: wait until it has ended, or end it with {/stop}.',
  'try.nothing': 'There is no such question in this conversation. Nothing was changed.',
  'try.summarized': 'That is now part of the summary of older messages, so it can no longer be changed.',
  'try.foreign': 'Only the person who asked that can ask it again, in the same chat.',
  'try.too_old': 'That question was asked too long ago to be asked again: please send it again.',
  'try.ran_a_plan': 'That message ran a stored plan: {/plan} run starts it again.',
  'try.has_client_tools':
    'That question came from a program with its own tools, so the program itself has to ask again.',
  'try.too_many_tries': 'That question already has {most} answers, the maximum: please send it again.',
  'undo.done': 'I have forgotten “{question}” and its answer. What tools did is not undone.',
  'retry.effects':
    'I am answering again. What the earlier answer did with its tools is not undone: {effects}.',

  'trust.owners_only': 'Only an owner can trust what this conversation has read. {/new} starts a fresh one.',
  'trust.busy': 'An answer here is not finished: wait for it, or send {/stop} first.',
  'trust.nothing': 'This conversation has read no text from others. Nothing was changed.',
  'trust.done':
    'This conversation has read text from {sources}. From now on that text counts as trusted: tools that reach beyond this chat no longer ask because of it. Anything it reads after this counts as untrusted again.',

  'language.now': 'I speak {name} to you ({code}).',
  'language.now_auto': 'I speak {name} to you ({code}), because your app is set to it.',
  'language.others':
    'Languages: {languages}. {/language} and one of them changes it, {/language} auto follows your app.',
  'language.changed': 'From now on I speak {name} to you.',
  'language.auto': 'From now on I follow the language of your app; that is {name}.',
  'language.unknown': 'I do not speak "{name}". Languages: {languages}.',
} as const;
