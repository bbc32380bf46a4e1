/** Chats that share a conversation: codes, questions in both of them, and who has joined or left. */

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
