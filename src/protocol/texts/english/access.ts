/** Who is let in, what is refused, and what is said of messages that wait. */

export const access = {
  'pairing.code':
    'Hello! I do not know you yet. Ask the person who runs me to approve this code within an hour:\n\n{parley} pair approve {code}',
  'group.not_allowed':
    "This group is not allowed yet. To allow it, run this on the gateway's machine: {parley} pair group {channel} {chat}",
  'group.hello_not_allowed':
    "Hello! I only answer in groups that the person who runs me has allowed. To allow this one, run this on the gateway's machine: {parley} pair group {channel} {chat}",
  'group.hello_mention':
    'Hello! Mention me, reply to one of my messages or send a command, and I will answer. Send {/help} to see what else I can do.',
  'group.hello': 'Hello! I answer every message here. Send {/help} to see what else I can do.',
  'group.moved':
    'This group has a new id, {to}. What config.json sets for it under the old id, {from}, applies again once an owner of this bot replaces that id in access.{channel}.groups; until then I answer when someone mentions me.',
  'group.quiet':
    'Bots have triggered {turns} answers here within {within} minutes. For the next {quiet} minutes I will not answer bots in this chat; people still get answers as usual.',

  'observe.private': 'There is nothing to observe in a private chat.',
  'observe.usage': 'Write {/observe} on or {/observe} off.',
  'observe.owners_only': 'Only an owner can change whether I read along here.',
  'observe.on':
    'I read along here: I keep the last {most} messages that do not mention me, and the model sees them with the next one that does. I do not answer them. {/observe} off stops this and deletes them.',
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
  'refused.too_fast':
    'You are sending messages too fast, so I did not accept this one. Please send it again in {seconds} s.',
  'refused.too_fast_group':
    'You are sending messages too fast, so I did not accept this one. Please send it again in {seconds} s. The same is true of any other that comes too fast in the next {quiet} s; I do not answer those one by one.',
  'refused.too_fast_last':
    'You are sending messages too fast, so I did not accept this one. Please send it again in {seconds} s. I will not repeat this until one of your messages is accepted.',
  'refused.scope':
    'This token lacks the scope "{scope}", so /{name} was not carried out; "{parley} token change ID --scope SCOPES" grants it.',
  'refused.reserved':
    'The settings of the gateway name the session {session}, so only a token with the scope "admin" can use it. Choose another name.',
  'refused.choice_profile':
    'This token cannot choose the profile "{name}": that requires the scope "admin". It can use {instead}; a profile with "usableBy": "everyone" is open to all.',
  'refused.choice_model':
    'This token cannot choose the model "{name}": that requires the scope "admin". It can use {instead}; a profile with "usableBy": "everyone" is open to all.',
  'refused.choice_other_model':
    'This token cannot choose another model: that requires the scope "admin". It can use {instead}; a profile with "usableBy": "everyone" is open to all.',

  'waiting.for_owner': {
    one: 'Your message is next, but first I need a decision on `{tool}`: an owner can use its buttons, {/approve} or {/deny}. If none does within a minute, it will not run. {/stop} drops everything.',
    other:
      'Your message is next, but first I need a decision on `{tool}`: an owner can use its buttons, {/approve} or {/deny}. If none does within {count} minutes, it will not run. {/stop} drops everything.',
  },
  'waiting.for_approval':
    'Your message is next, but first I need a decision on `{tool}`: use its buttons, {/approve} or {/deny}. {/stop} drops everything.',

  'waiting.for_answer':
    'Your message is next, but I wait for an answer of {who} first. {/stop} drops everything.',

  'ask.asks': '{who} has me ask you:',
  'ask.how': {
    one: 'Your next message here is your answer, and goes to whoever asks. Later, reply to this message. It waits {count} minute.',
    other:
      'Your next message here is your answer, and goes to whoever asks. Later, reply to this message. It waits {count} minutes.',
  },
  'ask.answer': 'Answer',
  'ask.refuse': 'Refuse',
  'ask.never': 'Never ask me',
  'ask.your_answer': 'Your answer',
  'ask.answer_help': 'It goes to whoever asks.',
  'ask.waits': {
    one: 'I have asked {who} and wait {count} minute at most for the answer. {/stop} ends this.',
    other: 'I have asked {who} and wait {count} minutes at most for the answer. {/stop} ends this.',
  },
  'ask.not_in_time': 'No answer came in time.',
  'ask.declined': 'They do not want to answer this.',
  'ask.no_session': 'There is no such session that this token may see.',
  'ask.wants_none': 'Not asked: this person does not want to be asked for others.',
  'ask.no_owner':
    'Not asked: no owner of this bot has written to it in private. Name a person, or write to the bot first.',
  'ask.several_owners': 'Not asked: this bot has several owners: name one of {names}.',
  'ask.no_chat':
    'Not asked: no private chat shares the session {session}. Its person can link one with {/link}.',
  'ask.no_such_chat': 'Not asked: no chat called "{name}" shares the session {session}; there is {names}.',
  'ask.several_chats': 'Not asked: several chats share the session {session}: name one of {names}.',
  'ask.too_many': 'Not asked: {limit} questions wait for this person already. Try again later.',
  'ask.was_answered': 'You have answered.',
  'ask.was_refused': 'You did not want to answer.',
  'ask.was_over': 'No answer is needed any more.',
  'ask.sent': 'Sent to {who} as your answer.',
  'ask.sent_to': 'Sent to {who} as your answer to: {question}',
  'ask.undo': 'Undo',
  'ask.undo_how': {
    one: 'If you meant to write to me, undo it within {count} second.',
    other: 'If you meant to write to me, undo it within {count} seconds.',
  },
  'ask.waits_too': '{who} waits for an answer, too: your next message here goes there.',
  'ask.undone':
    'Not passed on: I take it as a message to me. You can still answer by a reply to the question.',
  'ask.undo_late': 'It is too late to take your answer back: it was passed on.',
  'ask.answered': 'Thank you. I pass your answer on.',
  'ask.refused': 'I say that you do not want to answer.',
  'ask.never_again':
    'I say that you do not want to answer, and no longer ask you for others. {/questions} on allows it again.',
  'ask.reply': 'Reply to the question with your answer, or send {/answer} and your answer.',
  'ask.over': 'Nothing was passed on: this question needs no answer any more.',
  'ask.twice': 'Nothing was passed on: you have already answered this question.',
  'ask.not_you': 'This question is for someone else. Nothing was passed on.',
  'ask.empty': 'Nothing was passed on: answer with text, because files are not passed on.',
  'ask.too_long': 'Nothing was passed on: an answer has at most {most} characters. Please shorten it.',
  'ask.nothing': 'No question is waiting for your answer.',
  'ask.several': 'Several questions are waiting for your answer: reply to the one you mean.',
  'questions.on': 'Owners of this bot may have me ask you. {/questions} off ends that.',
  'questions.off': 'I do not ask you for others. {/questions} on allows it.',

  'button.copy': 'Copy the command',
  'button.unknown': 'This button is unknown. Nothing was changed.',
  'button.elsewhere': 'This button belongs to another chat. Nothing was changed.',

  'answer.ended': 'This answer has already ended.',
  'answer.forgotten': 'This answer is no longer available. Nothing was changed.',
  'answer.not_newest': 'Only the newest answer can be regenerated. Nothing was changed.',
  'answer.asked_again': 'Asked again.',
  'edited.offer': 'I had already started answering before you edited your question.',
  'edited.again': 'Ask again',
  'edited.forgotten': 'That question is no longer available. Please send it again.',
  'edited.foreign': 'Only the person who wrote the question can ask it again.',
} as const;

/*** Requests for approval: the question, its buttons, what became of it, and the rules that approve by themselves. */
export const approvals = {
  'approval.may_i': 'May I do this?',
  'approval.of_group': 'The group `{name}` waits for this:',
  'approval.how': {
    one: 'Press a button, or write {/approve} or {/deny}. A reply to this message denies it, and I read the reply as your reason. If nobody answers within a minute, it will not run.',
    other:
      'Press a button, or write {/approve} or {/deny}. A reply to this message denies it, and I read the reply as your reason. If nobody answers within {count} minutes, it will not run.',
  },
  'approval.approve': 'Approve',
  'approval.deny': 'Deny',
  'approval.always': 'Always allow this exact call here',
  'approval.always_chat': 'Always allow messages to this chat',
  'approval.edit': 'Edit',
  'approval.edit_title': 'Approve with changes: {tool}',
  'approval.edit_json': 'This must be JSON; empty leaves it out.',
  'approval.edit_reply':
    'Reply to my question with a JSON object that has the new values, or send it after {/approve}.',
  'approval.reason': 'Reason',
  'approval.reason_help': 'I read it before I continue. You can leave it empty.',
  'approval.expired_unrun': 'Not run: no one answered in time.',
  'approval.stopped_unrun': 'Not run: stopped.',
  'approval.approved_by': 'Approved by {who}.',
  'approval.denied_by': 'Denied by {who}.',
  'approval.denied_because': 'Denied by {who}: {reason}.',
  'approval.with_changes': 'Changed before it was approved:',
  'approval.who_on': '{who} on {network}',
  'approval.named_above': 'Named above: {path}',
  'approval.named_in': 'Named in {file}: {path}',
  'approval.file_hidden': '{file}, which cannot be shown. {problem}',
  'approval.file': '{file}, {bytes} bytes, SHA-256 {digest}',
  'approval.file_unshown': '{file}. It is too long to show, or is not text.',

  'decided.denied': 'Denied: it will not run.',
  'decided.approved': 'Approved.',
  'decided.rule_stored':
    'Approved. From now on, this exact call runs here without asking; {/rules} shows and removes it.',
  'decided.rule_full':
    'Approved, but only this once: this chat already has the maximum of {most} rules. See {/rules}.',
  'decided.rule_not_offered': 'Approved, but only this once: it cannot be allowed permanently.',
  'decided.changed': 'Approved with your changes.',
  'decided.no_json': 'the changes must be a JSON object with the new values of arguments.',
  'decided.not_json': 'this must be JSON: {names}.',
  'decided.bad_args': 'Nothing was decided: {problem}',
  'decided.stopped': 'Nothing changed: it was already stopped.',
  'decided.already_approved': 'Nothing changed: it was already approved by {who}.',
  'decided.already_denied': 'Nothing changed: it was already denied by {who}.',
  'decided.someone': 'someone',
  'decided.expired': 'This request expired; nothing was run.',
  'decided.unknown': 'This request no longer exists. Nothing was changed.',
  'decided.owners_only': 'Only an owner of this bot can decide this.',
  'decided.nothing': 'There is no pending request here.',
  'decided.reason_cut': 'Only the first {most} characters of your reason were kept.',

  'rules.owners_only': 'In a group, only an owner of this bot can see and remove its rules.',
  'rules.usage': 'Write {/rules}, {/rules} remove and a number from the list, or {/rules} remove all.',
  'rules.unknown': 'There is no such rule here. {/rules} lists them.',
  'rules.removed': {
    one: 'Removed: I will ask again from now on.',
    other: 'Removed {count} rules: I will ask again from now on.',
  },
  'rules.none': 'There are no rules here: I ask before everything that needs approval.',
  'rules.list': 'These calls run here without asking ({/rules} remove and a number removes one):',
  'rules.line': {
    one: '{number}. {call}, since {since} by {who}, used {count} time',
    other: '{number}. {call}, since {since} by {who}, used {count} times',
  },
} as const;

/*** Chats that share a conversation: codes, questions in both of them, and who has joined or left. */
export const surfaces = {
  'link.how': 'Press Join or write {/link} yes. To decline, press Decline or write {/link} no.',
  'link.join': 'Join',
  'link.decline': 'Decline',
  'link.joined': 'Joined: {where}.',
  'link.declined': 'Declined: {where} was not linked.',
  'link.declined_here': 'Declined: the chats were not linked.',
  'link.nothing': 'There is nothing to confirm here. {/link} gives a new code.',
  'link.code':
    'To share this conversation, send this within ten minutes in the other chat: {ways}\n\nI will ask you here before the chats are linked. Do not give the code to anyone else.',
  'link.requested': 'I sent a request to {where}.',
  'link.both_agreed': 'Both sides agreed: the chats now share one conversation.',
  'link.waiting': 'Thank you. Waiting for {where} to confirm.',
  'link.foreign': 'This question is for someone else.',
  'link.full': 'That conversation already has the maximum of {most} chats.',
  'link.too_many': 'This conversation has the maximum number of chats: send {/unlink} in one of them first.',
  'link.admins_only': 'Only an owner of this bot or an administrator of this group can link it.',
  'link.admins_unknown':
    'I cannot tell whether you are an administrator of this group. Try again later, or ask an owner of this bot to link it.',
  'link.has_joined':
    '{where} now shares this conversation. {/surfaces} lists its chats, {/unlink} separates one.',
  'link.unknown': {
    one: 'I do not know this code. Type it exactly as shown; you have one more try.',
    other: 'I do not know this code. Type it exactly as shown; you have {count} more tries.',
  },
  'link.expired':
    'This code is no longer valid: codes last ten minutes. The command `link` in the other chat gives a new one.',
  'link.used': 'This code was already used. The command `link` in the other chat gives a new one.',
  'link.limited': {
    one: 'Too many wrong codes. Try again in a minute.',
    other: 'Too many wrong codes. Try again in {count} minutes.',
  },
  'link.same': 'This chat already shares that conversation. Enter the code in the chat that should join.',
  'link.linked': 'This chat shares another conversation. Send {/unlink} first.',
  'link.giver_linked':
    'The chat that gave this code shares another conversation. Send the command `unlink` there first, or get a code here and enter it there.',
  'link.web':
    'Both are web conversations, which always stay separate. Enter the code in a chat on another network.',
  'link.explain_join':
    'This chat is about to join the conversation on **{where}**. From then on both show the same questions and answers, and each of them can reply, stop and approve.',
  'link.explain_entered':
    'The code from this chat was entered there: it is about to join the conversation on **{where}**. From then on both show the same questions and answers, and each of them can reply, stop and approve.',
  'link.group_reads_there': 'Everyone in this group will read what is said there.',
  'link.group_reads_here': 'Everyone in that group will read what is said here.',
  'link.stays':
    'Earlier messages here stay separate from the shared conversation; {/unlink} brings them back.',
  'link.explain_asked':
    '**{where}** has entered the code from this chat and wants to join this conversation: both would show the same questions and answers, and each could reply, stop and approve.',
  'link.explain_given':
    '**{where}** gave this code and wants to join this conversation: both would show the same questions and answers, and each could reply, stop and approve.',
  'link.decline_strangers': 'If you do not know who that is, decline.',

  'unlink.alone': 'This chat does not share its conversation with another chat.',
  'unlink.left': 'This chat is separate again. The shared messages stay with the other chats.',
  'unlink.separated': 'The chats are separated. The shared messages stay here.',
  'unlink.has_left': '{where} has left this conversation.',
  'unlink.continued': 'This chat is separate again: the shared conversation continues elsewhere.',
  'unlink.in_the_middle': 'this chat was separated before the answer ended',
  'unlink.unreachable': 'I can no longer write to {where}, so it has left this conversation.',

  'surfaces.none':
    'This chat does not share its conversation with another chat. {/link} gives a code to enter in another chat.',
  'surfaces.list': 'Chats that share this conversation:',
  'surfaces.line': '- {where}, since {since} UTC',
  'surfaces.here': '- {where}, since {since} UTC - this chat',
  'surfaces.group': '{network} (group chat)',
  'surfaces.group_called': '{network} (group chat "{name}")',
  'surfaces.private': '{network} (private chat)',
  'surfaces.private_with': '{network} (private chat with {name})',
  'surfaces.asked': '**{name} on {network}:** {text}',
  'surfaces.asked_files': {
    one: '**{name} on {network}:** {text} (1 file)',
    other: '**{name} on {network}:** {text} ({count} files)',
  },
  'surfaces.somebody': 'Someone',
} as const;

/*** What channels say by themselves, and what their menus show. */
export const channels = {
  'about.ask': 'Ask something; the answer appears right here',
  'argument.ask_prompt': 'What you want to know or have done',
  'argument.ask_file': 'A picture, document or recording to go with it',
  'menu.ask': 'ask',
  'menu.ask_about': 'Ask about this',
  'menu.summarise': 'Summarize from here',
  'menu.your_question': 'Your question',
  'summary.prompt':
    'Summarize this conversation from the quoted messages on: who said what, and what was decided.',
  'summary.more': 'More was said after these {messages} messages.',
  'summary.cut': 'The middle is left out because it is too long.',
  'press.done': 'Done.',
  'press.not_answered': 'This bot does not answer you here.',
  'press.unknown_command': 'This command is unknown. Nothing was changed.',
  'press.too_late': 'It took too long to show you the form. Please press the button again.',
  'press.not_stored': 'Your message could not be saved just now. Please send it again in a moment.',
  'read.gone': 'I can no longer read that message. Please use the command on it again.',
  'read.forbidden':
    'I am not allowed to read the messages in this channel: I need the permissions View Channel and Read Message History.',
  'read.not_given': '{network} did not give me the messages in this channel. Please try again in a moment.',
  'write.forbidden':
    'I am not allowed to write where you asked me (channel {channel}). Someone who runs that server has to give me the Send Messages permission; the answer is kept for an hour.',
  'privacy.on': {
    one: '{network}: privacy mode is on, but the settings of a group ask for all messages. Turn privacy mode off at @BotFather (/setprivacy), then remove the bot from the group and add it again.',
    other:
      '{network}: privacy mode is on, but the settings of {count} groups ask for all messages. Turn privacy mode off at @BotFather (/setprivacy), then remove the bot from the groups and add it again.',
  },
  'typing.status': 'is typing…',
  'form.send': 'Send',
  'form.close': 'Cancel',
  'thread.unnamed': 'Question',
  'room.unread':
    'I cannot read your message: your app did not give me the key to it. Send it again. If I still cannot read it, your app sends keys only to verified devices, or I need a new login: the person who runs me can find out.',
} as const;

/*** What is wrong with a channel, and what helps: the details of its health. */
export const channelHealth = {
  'health.needs': 'needs {needs}',
  'health.both': '{first} {second}',
  'health.queued': 'another node receives; this one takes over when that node ends',
  'health.broke': 'The connection to {network} was lost; reconnecting.',
  'health.calls': 'The {api} of {network} does not answer; retrying.',
  'health.missed': {
    one: 'Some missed messages of one chat could not be read: see {event} in the log.',
    other: 'Some missed messages of {count} chats could not be read: see {event} in the log.',
  },
  'health.unreachable': '{network} cannot be reached; retrying.',
  'health.answered': '{network} answered with status {status}; retrying.',
  'health.connecting': 'Connecting to {network}.',
  'health.portal_token':
    '{network} refused the bot token: copy the one from the Developer Portal (your application, Bot, Reset Token) into {variable} and restart.',
  'health.no_content':
    '{network} does not send the bot the text of messages that do not mention it, so it answers only mentions, direct messages and slash commands. Turn on "Message Content Intent" in the Developer Portal (your application, Bot, Privileged Gateway Intents) and restart.',
  'health.more_shards':
    '{network} requires more shards than this bot uses (4011): restart Parley, so that it asks again how many it needs.',
  'health.bad_shard': '{network} refused the shard (4010): update Parley.',
  'health.bad_version': '{network} refused the API version (4012): update Parley.',
  'health.bad_intents': '{network} refused the intents (4013): update Parley.',
  'health.unseen': 'The bot cannot see this {network} channel: give it the View Channel permission.',
  'health.forbidden':
    'The bot is not allowed to do this on {network}: give it the Send Messages permission in this channel.',
  'health.archived': 'The {network} thread is archived: unarchive it to write there.',
  'health.locked': 'The {network} thread is locked: unlock it to write there.',
  'health.unwritable': {
    one: 'In one channel the bot could not write within the last hour. {why}',
    other: 'In {count} channels the bot could not write within the last hour. {why}',
  },
  'health.sessions_short': 'The last sessions with {network} ended early; the next starts in {seconds} s.',
  'health.sessions_used_up':
    'Too many sessions were started today, and {network} resets the bot token after {total}; reconnecting at {until}.',
  'health.app_page_token':
    '{network} refused the bot token: copy the Bot User OAuth Token (your app at {page}, OAuth & Permissions) into {variable} and restart.',
  'health.app_level_token':
    '{network} refused the app token: create an App-Level Token with the scope connections:write (your app at {page}, Basic Information), set {variable} to it and restart.',
  'health.socket_off':
    'Socket Mode is turned off for the {network} app: turn it on (your app at {page}, Socket Mode).',
  'health.not_opened': 'The connection to {network} could not be opened; retrying.',
  'health.no_address': '{network} did not give an address to connect to.',
  'health.failed': '{network} failed with {code}; retrying.',
  'health.foreign': 'Something in front of {network}, such as a proxy, answered; retrying.',
  'health.other': '{network} reports: {detail}',
  'health.refused': '{network} refused the call: {detail}',
  'health.refused_once': '{network} refused one call, but not the bot token; retrying.',
  'health.at_limit': '{network} has reached one of its own limits; retrying.',
  'health.no_list': '{network} did not answer {method} with a list.',
  'health.not_read': '{network} did not say whose bot token this is; asking again later.',
  'health.scope':
    'The bot lacks the scope {scope} on {network}: add it (your app at {page}, OAuth & Permissions) and install the app again.',
  'health.scopes':
    'The bot lacks a scope on {network}: compare those it has with the documentation (your app at {page}, OAuth & Permissions), and install the app again.',
  'health.wait': '{network} asks for a pause of {ms} ms.',
  'health.login_token':
    'The {network} homeserver refused the access token: log the bot in again, set {variable} to the new token, and restart.',
  'health.keys':
    '{network}: the bot has no keys for encrypted rooms. Log the bot in again, set {variable} to the new token, and restart.',
  'health.keys_dropped':
    '{network}: more than {most} keys of encrypted rooms were stored, so the {count} oldest were removed; old messages that need them cannot be read any more.',
  'health.server_calls': 'The {network} homeserver ({variable}) does not answer; retrying.',
  'health.server_sync': 'The {network} homeserver did not answer a sync; retrying.',
  'health.chat_token':
    '{network} refuses the bot token: put the one @BotFather shows for your bot into {variable}, then restart. Parley keeps asking {network}, in case it accepts this one after all.',
  'health.answer': '{network} answered {method} with "{description}".',
  'health.conflict':
    '{refusal} Something else is receiving with this bot token: stop it, or use a separate bot.',
  'health.webhook_address': '{refusal} Correct {setting}.',
  'health.not_reached':
    '{network} cannot be reached for {method} ({why}): check the network, and {variable} if it is set.',
  'health.webhook':
    '{network} cannot post updates to {setting}: "{why}". It keeps trying; waiting updates: {waiting}.',
  'health.http.in_use': 'Port {port} on {host} is in use by another program; set PORT to a free one.',
  'health.http.no_permission': 'No permission to listen on port {port}; set PORT to one above 1023.',
  'health.http.not_here': '{host} is not an address of this machine; set HOST to one, or to 127.0.0.1.',
  'health.http.unknown_host':
    '{host} cannot be resolved; set HOST to an address of this machine, or to 127.0.0.1.',
  'health.http.cannot_listen': 'Cannot listen on {host}:{port} (HOST, PORT): {code}.',
} as const;
