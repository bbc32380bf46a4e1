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

/*** Requests for approval: the question, its buttons, what became of it, and the rules that approve by themselves. */
export const approvals = {
  'approval.may_i': 'May I do this?',
  'approval.how': {
    one: 'Press a button, or write {/approve} or {/deny}. A reply to this message denies it, and I read the reply as your reason. Without an answer in a minute it will not run.',
    other:
      'Press a button, or write {/approve} or {/deny}. A reply to this message denies it, and I read the reply as your reason. Without an answer in {count} minutes it will not run.',
  },
  'approval.approve': 'Approve',
  'approval.deny': 'Deny',
  'approval.always': 'Always exactly this here',
  'approval.reason': 'Reason',
  'approval.reason_help': 'I read it before I continue. You can leave it empty.',
  'approval.expired_unrun': 'Not run: no one answered in time.',
  'approval.stopped_unrun': 'Not run: stopped.',
  'approval.approved_by': 'Approved by {who}.',
  'approval.denied_by': 'Denied by {who}.',
  'approval.denied_because': 'Denied by {who}: {reason}.',
  'approval.named_above': 'Named above: {path}',
  'approval.named_in': 'Named in {file}: {path}',
  'approval.file_hidden': '{file}, which cannot be shown. {problem}',
  'approval.file': '{file}, {bytes} bytes, SHA-256 {digest}',
  'approval.file_unshown': '{file}. It is too long to show, or is not text.',
  'approval.may_name_more':
    'It may name other files, which are not shown and are not part of what you approve.',

  'decided.denied': 'Denied: it will not run.',
  'decided.approved': 'Approved.',
  'decided.rule_stored':
    'Approved. From now on, exactly this runs here without asking; {/rules} shows and removes it.',
  'decided.rule_full': 'Approved. Not remembered: this chat has {most} rules, see {/rules}.',
  'decided.rule_not_offered': 'Approved. Only this once: it cannot be allowed permanently.',
  'decided.stopped': 'Nothing changed: it was stopped.',
  'decided.already_approved': 'Nothing changed: it was already approved by {who}.',
  'decided.already_denied': 'Nothing changed: it was already denied by {who}.',
  'decided.someone': 'someone',
  'decided.expired': 'This request expired; nothing was run.',
  'decided.unknown': 'This request no longer exists. Nothing was changed.',
  'decided.owners_only': 'Only an owner of this bot can decide this.',
  'decided.nothing': 'There is no pending request here.',
  'decided.reason_cut': 'Only the first {most} characters of your reason were kept.',

  'rules.owners_only': 'In a group, only an owner of this bot can see and remove its rules.',
  'rules.usage': 'Write {/rules}, {/rules} remove and a number of the list, or {/rules} remove all.',
  'rules.unknown': 'There is no such rule here. {/rules} lists them.',
  'rules.removed': {
    one: 'Removed: I will ask again from now on.',
    other: 'Removed {count} rules: I will ask again from now on.',
  },
  'rules.none': 'Nothing that needs approval runs here without asking.',
  'rules.list': 'These calls run here without asking ({/rules} remove and a number removes one):',
  'rules.line': {
    one: '{number}. {call}, since {since} by {who}, used {count} time',
    other: '{number}. {call}, since {since} by {who}, used {count} times',
  },
} as const;

/*** Chats that share a conversation: codes, questions in both of them, and who has joined or left. */
export const surfaces = {
  'link.how': 'Press Join, or write {/link} yes. Otherwise decline, or write {/link} no.',
  'link.join': 'Join',
  'link.decline': 'Decline',
  'link.joined': 'Joined: {where}.',
  'link.declined': 'Declined: nothing was joined: {where}.',
  'link.declined_here': 'Declined: nothing was joined.',
  'link.nothing': 'There is no open question here. {/link} gives a new code.',
  'link.code':
    'To share this conversation, send this within ten minutes in the other chat: {ways}\n\nI will then ask here, too, before anything is joined. Do not give the code to anyone else.',
  'link.asked': 'I have asked on {where}, too.',
  'link.both_agreed': 'Both have agreed: the chats are one conversation now.',
  'link.waiting': 'Thank you. I am waiting for {where}.',
  'link.foreign': 'This question is for someone else.',
  'link.full': 'That conversation has {most} chats and cannot take any more.',
  'link.too_many': 'This conversation has as many chats as it can have: send {/unlink} in one of them first.',
  'link.admins_only': 'Only an owner of this bot or an administrator of this group can link it.',
  'link.admins_unknown':
    'I cannot tell whether you are an administrator of this group. Try again later, or ask an owner of this bot to link it.',
  'link.has_joined':
    '{where} shares this conversation now. {/surfaces} lists its chats, {/unlink} separates one.',
  'link.unknown': {
    one: 'I do not know this code. Type it as it was shown; there is one more try.',
    other: 'I do not know this code. Type it as it was shown; there are {count} more tries.',
  },
  'link.expired':
    'This code is no longer valid: codes last ten minutes. The command `link` in the other chat gives a new one.',
  'link.used': 'This code was already used. The command `link` in the other chat gives a new one.',
  'link.limited': {
    one: 'Too many wrong codes: I accept none here for a minute.',
    other: 'Too many wrong codes: I accept none here for {count} minutes.',
  },
  'link.same': 'This chat already shares that conversation. Enter the code in the chat that should join.',
  'link.linked': 'This chat shares another conversation. Send {/unlink} first.',
  'link.giver_linked':
    'The chat that gave this code shares another conversation. Send the command `unlink` there first, or give a code here and enter it there.',
  'link.web':
    'Both are conversations on the web, where each one stays separate. Enter the code in a chat on another network.',
  'link.explain_join':
    'This chat is about to join the conversation on **{where}**. From then on both show the same questions and answers, and each of them can reply, stop and approve.',
  'link.explain_entered':
    'The code of this chat was entered there: it is about to join the conversation on **{where}**. From then on both show the same questions and answers, and each of them can reply, stop and approve.',
  'link.group_reads_there': 'Everyone in this group will read what is said there.',
  'link.group_reads_here': 'Everyone in that group will read what is said here.',
  'link.stays':
    'What was said here until now stays as it is, apart from the shared conversation; {/unlink} brings it back.',
  'link.explain_asked':
    '**{where}** has entered the code of this chat and wants to join this conversation: both would show the same questions and answers, and each could reply, stop and approve.',
  'link.explain_given':
    '**{where}** gave this code and wants to join this conversation: both would show the same questions and answers, and each could reply, stop and approve.',
  'link.decline_strangers': 'If you do not know who that is, decline.',

  'unlink.alone': 'This chat does not share its conversation with another chat.',
  'unlink.left': 'This chat is on its own again. What was said together stays with the other chats.',
  'unlink.separated': 'The chats are separated. What was said together stays here.',
  'unlink.has_left': '{where} has left this conversation.',
  'unlink.went_on': 'This chat is on its own again: the shared conversation continues elsewhere.',
  'unlink.in_the_middle': 'this chat was separated before the answer ended',
  'unlink.unreachable': 'I can no longer write to {where}, so it has left this conversation.',

  'surfaces.none':
    'This chat does not share its conversation with another chat. {/link} gives a code to enter in another chat.',
  'surfaces.list': 'This conversation is shared by:',
  'surfaces.line': '- {where}, since {since} UTC',
  'surfaces.here': '- {where}, since {since} UTC - this chat',
  'surfaces.group': '{network} (group chat)',
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
  'summary.cut': 'Its middle is left out, because it is too long.',
  'press.done': 'Done.',
  'press.not_answered': 'This bot does not answer you here.',
  'press.unknown_command': 'This command is unknown. Nothing was changed.',
  'press.too_late': 'It took too long to show you the form. Please press the button again.',
  'press.not_stored': 'Your message could not be stored just now. Please send it again in a moment.',
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
  'room.encrypted':
    'This room is encrypted, and I cannot read encrypted messages. Please write to me in a room without encryption: leave it off when you create the room, because it cannot be turned off later.',
} as const;

/*** What is wrong with a channel, and what helps: the details of its health. */
export const channelHealth = {
  'health.needs': 'needs {needs}',
  'health.both': '{first} {second}',
  'health.queued': 'waits to receive; another node may be receiving now',
  'health.broke': 'The connection to {network} broke; connecting again.',
  'health.calls': '{network} does not answer calls of its {api}; trying again.',
  'health.missed': {
    one: 'Messages missed in one chat could not all be read: see {event} in the log.',
    other: 'Messages missed in {count} chats could not all be read: see {event} in the log.',
  },
  'health.unreachable': '{network} cannot be reached; the call is tried again.',
  'health.answered': '{network} answered with status {status}; the call is tried again.',
  'health.connecting': 'Connecting to {network}.',
  'health.portal_token':
    '{network} refused the bot token: copy the one from the Developer Portal (your application, Bot, Reset Token) into {variable} and restart.',
  'health.no_content':
    '{network} refuses the bot the texts of messages that do not mention it: mentions, direct messages and slash commands are answered. Switch on "Message Content Intent" in the Developer Portal (your application, Bot, Privileged Gateway Intents) and restart.',
  'health.more_shards':
    '{network} demands more shards than it asked for (4011): restart Parley, so that it asks again how many it needs.',
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
  'health.sessions_short': 'The last sessions with {network} ended soon; the next begins in {seconds} s.',
  'health.sessions_used_up':
    'Too many sessions were begun today, and {network} resets the bot token past {total}; connecting again at {until}.',
  'health.app_page_token':
    '{network} refused the bot token: copy the Bot User OAuth Token (your app at {page}, OAuth & Permissions) into {variable} and restart.',
  'health.app_level_token':
    '{network} refused the app token: make an App-Level Token with the scope connections:write (your app at {page}, Basic Information), set {variable} to it and restart.',
  'health.socket_off':
    'Socket Mode is switched off for the {network} app: switch it on (your app at {page}, Socket Mode).',
  'health.not_opened': 'The connection to {network} could not be opened; trying again.',
  'health.no_address': '{network} named no address to connect to.',
  'health.failed': '{network} failed with {code}; the call is tried again.',
  'health.foreign': 'Something before {network} answered; the call is tried again.',
  'health.other': '{network} reports: {detail}',
  'health.refused': '{network} refused the call: {detail}',
  'health.refused_once': '{network} refused one call, but not the bot token; the call is tried again.',
  'health.at_limit': '{network} has reached one of its own limits; the call is tried again.',
  'health.no_list': '{network} answered {method} with no list.',
  'health.not_read': '{network} did not say who the bot token belongs to; asking again later.',
  'health.scope':
    'The bot lacks the scope {scope} on {network}: add it (your app at {page}, OAuth & Permissions) and install the app again.',
  'health.scopes':
    'The bot lacks a scope on {network}: compare those it has with the documentation (your app at {page}, OAuth & Permissions), and install the app again.',
  'health.wait': '{network} asks to wait {ms} ms.',
  'health.login_token':
    'The {network} homeserver refused the access token: log the bot in again, set {variable} to the new token, and restart.',
  'health.server_calls': 'The {network} homeserver ({variable}) does not answer; trying again.',
  'health.server_sync': 'No answer to a sync from the {network} homeserver; trying again.',
  'health.chat_token':
    '{network} refuses the bot token: put the one @BotFather shows for your bot into {variable}, then restart. Parley keeps asking {network}, in case it accepts this one after all.',
  'health.said': '{network} answered {method} with "{description}".',
  'health.conflict':
    '{refusal} Something else is receiving with this bot token: stop it, or use a separate bot.',
  'health.webhook_address': '{refusal} Correct {setting}.',
  'health.not_reached':
    '{network} cannot be reached for {method} ({why}): check the network, and {variable} if it is set.',
  'health.webhook':
    '{network} cannot post updates to {setting}: "{why}". It holds {waiting} back and tries again.',
  'health.http.in_use': 'Port {port} on {host} is in use by another program; set PORT to a free one.',
  'health.http.no_permission': 'No permission to listen on port {port}; set PORT to one above 1023.',
  'health.http.not_here': '{host} is not an address of this machine; set HOST to one, or to 127.0.0.1.',
  'health.http.unknown_host':
    '{host} cannot be resolved; set HOST to an address of this machine, or to 127.0.0.1.',
  'health.http.cannot_listen': 'Cannot listen on {host}:{port} (HOST, PORT): {code}.',
} as const;
